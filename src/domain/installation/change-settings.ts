/** Reading and changing the settings of the installation. Every process hears of a change and reads them again. */
import { z } from 'zod';
import { sql, type Queryable } from '../../db/database.ts';
import { notify } from '../../db/listen.ts';
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { settingsFrom, settingsTable, type InstallationSettings, type SettingName } from './settings.ts';

/** Notified, without a payload, when a setting has changed. */
export const SETTINGS_CHANNEL = 'installation_settings';
const KEY_PREFIX = 'settings.';

/** Null goes back to the default. */
const changeInput = z.strictObject(
  Object.fromEntries(Object.entries(settingsTable).map(([name, { schema }]) => [name, schema.nullish()])),
);

export type SettingsChange = { readonly [Name in SettingName]?: unknown };

export async function readSettings(db: Queryable): Promise<InstallationSettings> {
  const rows = await db.query<{ name: string; value: unknown }>(
    sql`SELECT substr(key, ${KEY_PREFIX.length + 1}::int) AS name, value FROM setting WHERE starts_with(key, ${KEY_PREFIX})`,
    'installation.settings',
  );
  return settingsFrom(Object.fromEntries(rows.map(({ name, value }) => [name, value])));
}

/** Changes what is given; null goes back to the default. All or nothing. Throws ValidationError. */
export async function changeSettings(ctx: Context, input: SettingsChange): Promise<InstallationSettings> {
  return inTransaction(ctx, async ({ tx }) => {
    await writeSettings(tx, input);
    return readSettings(tx);
  });
}

/** The same in a transaction that is open. */
export async function writeSettings(tx: Queryable, input: SettingsChange): Promise<void> {
  const given = Object.entries(parseInput(changeInput, input)).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) await writeSetting(tx, `${KEY_PREFIX}${name}`, value);
  await notify(tx, SETTINGS_CHANNEL, '');
}

async function writeSetting(db: Queryable, key: string, value: unknown): Promise<void> {
  await db.execute(
    value === null
      ? sql`DELETE FROM setting WHERE key = ${key}`
      : sql`INSERT INTO setting (key, value) VALUES (${key}, ${JSON.stringify(value)}::jsonb)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  );
}
