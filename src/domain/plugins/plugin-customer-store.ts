/** Customers that have switched a plugin on. */
import { row, sql, type Queryable, type RowOf } from '../../db/database.ts';
import type { PluginKey } from '../plugin-host.ts';

export async function switchOn(db: Queryable, customerId: bigint, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`
    INSERT INTO plugin_customer (customer_id, vendor, plugin) VALUES (${customerId}, ${vendor}, ${name}) ON CONFLICT DO NOTHING`);
}

export async function switchOff(db: Queryable, customerId: bigint, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`
    DELETE FROM plugin_customer WHERE customer_id = ${customerId} AND vendor = ${vendor} AND plugin = ${name}`);
}

/** For plugins that are deleted: if one comes back, nobody has switched it on. */
export async function switchOffForAll(db: Queryable, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`DELETE FROM plugin_customer WHERE vendor = ${vendor} AND plugin = ${name}`);
}

const ACTING_FOR_ROW = row({
  customerId: 'bigint',
  isSwitchedOn: 'bool',
  /** The plugin is active, as the database says. */
  isActive: 'bool',
});
export type ActingFor = RowOf<typeof ACTING_FOR_ROW>;

/** The active customer with this uid, and what it and the database say about the plugin; undefined: there is none. */
export async function findActingFor(
  db: Queryable,
  customerUid: string,
  { vendor, name }: PluginKey,
): Promise<ActingFor | undefined> {
  const [found] = await db.query(
    ACTING_FOR_ROW,
    sql`
    SELECT c.id AS "customerId",
           EXISTS (SELECT 1 FROM plugin_customer p WHERE p.customer_id = c.id AND p.vendor = ${vendor} AND p.plugin = ${name}) AS "isSwitchedOn",
           EXISTS (SELECT 1 FROM plugin p WHERE p.vendor = ${vendor} AND p.name = ${name} AND p.status = 'active') AS "isActive"
      FROM customer c WHERE c.uid = ${customerUid} AND c.status = 'active'`,
    'plugins.acting_for',
  );
  return found;
}

/** All that customers have switched on, by plugin (`vendor/name`): the uids of the customers. */
export async function switchedOn(db: Queryable): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = await db.query(
    { plugin: 'text', uids: 'text[]' },
    sql`
    SELECT p.vendor || '/' || p.plugin AS plugin, array_agg(c.uid) AS uids
      FROM plugin_customer p JOIN customer c ON c.id = p.customer_id GROUP BY p.vendor, p.plugin`,
    'plugins.switched_on',
  );
  return new Map(found.map(({ plugin, uids }) => [plugin, new Set(uids)]));
}

/** Those of these customers (uids) that have switched the plugin on. */
export async function switchedOnAmong(
  db: Queryable,
  { vendor, name }: PluginKey,
  customerUids: readonly string[],
): Promise<readonly string[]> {
  const found = await db.query(
    { uid: 'text' },
    sql`
    SELECT c.uid FROM plugin_customer p JOIN customer c ON c.id = p.customer_id
     WHERE p.vendor = ${vendor} AND p.plugin = ${name} AND c.uid = ANY(${[...customerUids]}::text[])`,
    'plugins.switched_on_among',
  );
  return found.map(({ uid }) => uid);
}

/** Hooks by which a plugin gets data of customers without an operation of its own, or by which it shows itself to them. */
const HOOKS_OF_CUSTOMERS = [
  ...['message_composed', 'before_message_sent', 'import_row', 'merge_tag', 'event_follower'],
  ...['recipient_check', 'segment_condition'],
  ...['layout.head.assets', 'layout.body.before_close', 'sidebar-menu-items', 'page', 'route'],
  ...['graphql_part', 'rest_row', 'settings_form'],
];

const OFFERED_ROW = row({
  vendor: 'text',
  name: 'text',
  title: 'text',
  description: 'text',
  scopes: 'text[]',
  isForAll: 'bool',
  isSwitchedOn: 'bool',
});
/** A plugin as customers see it. */
export type OfferedPlugin = RowOf<typeof OFFERED_ROW>;

/** Active plugins that may act for customers, by name. */
export function offeredPlugins(db: Queryable, customerId: bigint): Promise<OfferedPlugin[]> {
  return db.query(
    OFFERED_ROW,
    sql`
    SELECT p.vendor, p.name, p.title, p.description,
           ARRAY(SELECT jsonb_array_elements_text(p.granted -> 'scopes')) AS scopes,
           p.granted ->> 'customers' = 'all' AS "isForAll",
           EXISTS (SELECT 1 FROM plugin_customer c
                    WHERE c.customer_id = ${customerId} AND c.vendor = p.vendor AND c.plugin = p.name) AS "isSwitchedOn"
      FROM plugin p
     WHERE p.status = 'active'
       AND (jsonb_array_length(p.granted -> 'scopes') > 0
            OR EXISTS (SELECT 1 FROM jsonb_array_elements_text(p.granted -> 'hooks') h, unnest(${HOOKS_OF_CUSTOMERS}::text[]) name
                        WHERE h = name OR starts_with(h, 'page.') OR (h LIKE '%*' AND starts_with(name, rtrim(h, '*')))))
     ORDER BY p.vendor, p.name`,
  );
}
