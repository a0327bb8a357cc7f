/** The settings of the installation, made from their table: read and changed by administrators. */
import { changeSettings, readSettings } from '../../domain/installation/change-settings.ts';
import { settingsTable, type InstallationSettings, type SettingName } from '../../domain/installation/settings.ts';
import { builder } from '../builder.ts';
import { Installation } from './queries.ts';

const forAdministrators = { admin: true } as const;
const NAMES = Object.keys(settingsTable).filter((name): name is SettingName => name in settingsTable);

const SettingsOfInstallation = builder.objectRef<InstallationSettings>('InstallationSettings').implement({
  description: 'Settings of the installation. All processes use a change within seconds, without a restart.',
  authScopes: forAdministrators,
  fields: (t) =>
    Object.fromEntries(
      NAMES.map((name) => {
        const { type, about } = settingsTable[name];
        return [name, t.field({ type, description: about, resolve: (settings) => settings[name] })];
      }),
    ),
});

builder.objectField(Installation, 'settings', (t) =>
  t.field({
    type: SettingsOfInstallation,
    description: 'Its settings that are kept in the database.',
    resolve: (_installation, _args, ctx) => readSettings(ctx.db),
  }),
);

builder.mutationField('updateInstallationSettings', (t) =>
  t.fieldWithInput({
    type: SettingsOfInstallation,
    description: 'Changes the settings that are given; null goes back to the default.',
    authScopes: forAdministrators,
    input: Object.fromEntries(
      NAMES.map((name) => {
        const { type, schema: check } = settingsTable[name];
        return [name, t.input.field({ type, check })];
      }),
    ),
    resolve: (_root, { input }, ctx) => changeSettings(ctx, input),
  }),
);
