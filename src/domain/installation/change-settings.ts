/** Reading and changing the settings of the installation. Every process is notified of a change and reads them again. */
import { z } from 'zod';
import type { Queryable } from '../../db/database.ts';
import { notify } from '../../db/listen.ts';
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { deleteSettings, settingsBelow, writeSetting } from './setting-store.ts';
import { settingsFrom, settingsTable, type InstallationSettings, type SettingName } from './settings.ts';

/** Notified, without a payload, when a setting has changed. */
export const SETTINGS_CHANNEL = 'installation_settings';
const KEY_PREFIX = 'settings.';

/** Null resets to the default. */
const changeInput = z.strictObject(
  Object.fromEntries(Object.entries(settingsTable).map(([name, { schema }]) => [name, schema.nullish()])),
);

export type SettingsChange = { readonly [Name in SettingName]?: unknown };

export async function readSettings(db: Queryable): Promise<InstallationSettings> {
  const stored = await settingsBelow(db, KEY_PREFIX);
  return settingsFrom(Object.fromEntries(stored.map(({ name, value }) => [name, value])));
}

/** Changes the given settings; null resets to the default. All or nothing. Throws ValidationError. */
export async function changeSettings(ctx: Context, input: SettingsChange): Promise<InstallationSettings> {
  return inTransaction(ctx, async ({ tx }) => {
    await writeSettings(tx, input);
    return readSettings(tx);
  });
}

/** The same in an open transaction. */
export async function writeSettings(tx: Queryable, input: SettingsChange): Promise<void> {
  const given = Object.entries(parseInput(changeInput, input)).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const key = `${KEY_PREFIX}${name}`;
    await (value === null ? deleteSettings(tx, [key]) : writeSetting(tx, key, value));
  }
  await notify(tx, SETTINGS_CHANNEL, '');
}
