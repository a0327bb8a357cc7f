/** Stored settings of plugins: one row for the installation, one for each customer. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import type { SettingValues } from '../../plugin-api/index.ts';
import type { PluginKey } from '../plugin-host.ts';

/** Whose row: a customer's, or null: that of the installation. */
export interface SettingsKey extends PluginKey {
  readonly customerId: bigint | null;
}

const STORED = row({
  values: typed<SettingValues>('json'),
  sealedValues: 'bytea?',
  updatedAt: 'timestamptz?',
});
export type StoredSettings = RowOf<typeof STORED>;

export async function findSettings(db: Queryable, key: SettingsKey, lock = false): Promise<StoredSettings | undefined> {
  const { vendor, name, customerId } = key;
  const end = lock ? sql`FOR UPDATE` : sql``;
  const [found] = await db.query(
    STORED,
    customerId === null
      ? sql`SELECT values, sealed_values AS "sealedValues", updated_at AS "updatedAt" FROM plugin_settings
             WHERE vendor = ${vendor} AND name = ${name} ${end}`
      : sql`SELECT values, sealed_values AS "sealedValues", updated_at AS "updatedAt" FROM customer_plugin_settings
             WHERE customer_id = ${customerId} AND vendor = ${vendor} AND name = ${name} ${end}`,
  );
  return found;
}

/** Makes the row if there is none, so that it can be locked. */
export async function beginSettings(db: Queryable, { vendor, name, customerId }: SettingsKey): Promise<void> {
  await db.execute(
    customerId === null
      ? sql`INSERT INTO plugin_settings (vendor, name) VALUES (${vendor}, ${name}) ON CONFLICT DO NOTHING`
      : sql`INSERT INTO customer_plugin_settings (customer_id, vendor, name) VALUES (${customerId}, ${vendor}, ${name})
              ON CONFLICT DO NOTHING`,
  );
}

export async function writeSettingValues(
  db: Queryable,
  { vendor, name, customerId }: SettingsKey,
  { values, sealedValues }: Omit<StoredSettings, 'updatedAt'>,
): Promise<void> {
  const json = JSON.stringify(values);
  await db.execute(
    customerId === null
      ? sql`UPDATE plugin_settings SET values = ${json}::jsonb, sealed_values = ${sealedValues}, updated_at = clock_timestamp()
             WHERE vendor = ${vendor} AND name = ${name}`
      : sql`UPDATE customer_plugin_settings
               SET values = ${json}::jsonb, sealed_values = ${sealedValues}, updated_at = clock_timestamp()
             WHERE customer_id = ${customerId} AND vendor = ${vendor} AND name = ${name}`,
  );
}

/** Those of the installation and of all customers. */
export async function deleteSettingsOf(db: Queryable, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`DELETE FROM plugin_settings WHERE vendor = ${vendor} AND name = ${name}`);
  await db.execute(sql`DELETE FROM customer_plugin_settings WHERE vendor = ${vendor} AND name = ${name}`);
}
