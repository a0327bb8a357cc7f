/** Settings of plugins: forms described as data, with their values. */
import {
  pluginSettings,
  settingsChangeInput,
  updatePluginSettings,
  type ShownSettings,
} from '../../domain/plugins/plugin-settings.ts';
import { languageInput, shownForm, type ShownChoice, type ShownField } from '../../domain/plugins/shown-form.ts';
import { pluginKeyInput } from '../../domain/plugins/plugin.ts';
import { builder } from '../builder.ts';
import { PluginSettingType, PluginSettingsOwner } from '../enums.ts';

const READING = { scope: 'account:read' } as const;
const WRITING = { scope: 'account:write' } as const;
const LANGUAGE = "Of the labels, such as `de`; the customer's unless given.";

const PluginSettingChoice = builder.objectRef<ShownChoice>('PluginSettingChoice').implement({
  authScopes: READING,
  fields: (t) => ({
    value: t.exposeString('value'),
    label: t.exposeString('label', { description: 'Plain text.' }),
  }),
});

const PluginSetting = builder.objectRef<ShownField>('PluginSetting').implement({
  description: 'A field of the form.',
  authScopes: READING,
  fields: (t) => ({
    key: t.exposeString('key'),
    type: t.field({ type: PluginSettingType, resolve: ({ type }) => type }),
    label: t.exposeString('label', { description: 'Plain text.' }),
    help: t.exposeString('help', { nullable: true }),
    isRequired: t.exposeBoolean('isRequired'),
    min: t.exposeFloat('min', { nullable: true, description: 'Of a number its value; of a text its length.' }),
    max: t.exposeFloat('max', { nullable: true, description: 'Of a number its value; of a text its length.' }),
    choices: t.field({
      type: [PluginSettingChoice],
      description: 'Of a choice; else none.',
      resolve: ({ choices }) => [...choices],
    }),
  }),
});

const PluginSettings = builder.objectRef<ShownSettings>('PluginSettings').implement({
  description: 'A form for settings of an active plugin, with its values.',
  authScopes: READING,
  fields: (t) => ({
    plugin: t.exposeString('plugin', { description: '`vendor/name`.' }),
    for: t.field({ type: PluginSettingsOwner, resolve: ({ form }) => form.for }),
    settings: t.field({
      type: [PluginSetting],
      description: 'In the order of the form.',
      args: { language: t.arg.string({ check: languageInput, description: LANGUAGE }) },
      resolve: async (shown, { language }, ctx) => [...(await shownForm(ctx, shown, language ?? undefined))],
    }),
    values: t.field({
      type: 'JsonObject',
      description: 'By key, with defaults. Secrets are never answered.',
      resolve: ({ values }) => values,
    }),
    secretsSet: t.stringList({
      description: 'The keys of the secrets that have a value.',
      resolve: ({ secretsSet }) => [...secretsSet],
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', nullable: true, description: 'null: never changed.' }),
  }),
});

builder.queryField('pluginSettings', (t) =>
  t.field({
    type: [PluginSettings],
    description:
      "The forms of an active plugin that the caller may fill in: that of the caller's customer and, for an administrator with the scope `admin`, that of the installation.",
    authScopes: READING,
    args: {
      vendor: t.arg.string({ required: true, check: pluginKeyInput.shape.vendor }),
      name: t.arg.string({ required: true, check: pluginKeyInput.shape.name }),
    },
    resolve: async (_root, key, ctx) => [...(await pluginSettings(ctx, key))],
  }),
);

builder.mutationField('updatePluginSettings', (t) =>
  t.fieldWithInput({
    type: PluginSettings,
    description:
      'Changes settings of an active plugin: those that are given; null goes back to the default. Every fault is told at once, and then nothing is changed. Those of the installation need an administrator with the scope `admin`.',
    authScopes: WRITING,
    executionsMax: 1,
    typeOptions: { checks: settingsChangeInput.shape },
    input: {
      vendor: t.input.string({ required: true }),
      name: t.input.string({ required: true }),
      for: t.input.field({ type: PluginSettingsOwner, required: true }),
      values: t.input.field({ type: 'JsonObject', required: true, description: 'By key.' }),
    },
    resolve: (_root, { input }, ctx) => updatePluginSettings(ctx, input),
  }),
);
