/** Reads of sending domains for mail: who holds a name, which hosts are used, and what the DNS showed of the records. */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';
import type { DomainKey } from './sending-domain-store.ts';

const HOLDING_DOMAIN = row({
  customerId: 'bigint',
  id: 'bigint',
  name: 'text',
  status: typed<'verified' | 'failing'>('text'),
});
/** A domain that its customer has proved. */
export type HoldingDomain = RowOf<typeof HOLDING_DOMAIN>;

/** The longest of these names that somebody holds. */
export async function findHoldingDomain(db: Queryable, names: readonly string[]): Promise<HoldingDomain | undefined> {
  const [domain] = await db.query(
    HOLDING_DOMAIN,
    sql`SELECT customer_id AS "customerId", id, name, status FROM sending_domain
         WHERE name = ANY(${names}::text[]) AND status IN ('verified', 'failing') ORDER BY length(name) DESC LIMIT 1`,
    'sending.domain-of-address',
  );
  return domain;
}

const DEFAULT_DOMAIN = row({ ...HOLDING_DOMAIN, checks: 'json' });

/** The installation's default domain. */
export async function findDefaultDomain(db: Queryable): Promise<RowOf<typeof DEFAULT_DOMAIN> | undefined> {
  const [domain] = await db.query(
    DEFAULT_DOMAIN,
    sql`SELECT customer_id AS "customerId", id, name, status, checks FROM sending_domain
         WHERE is_default AND status IN ('verified', 'failing') LIMIT 1`,
    'sending.default-domain',
  );
  return domain;
}

/** What the last look at its records found. */
export async function checksOfDomain(db: Queryable, { customerId, id }: DomainKey): Promise<unknown> {
  const [row] = await db.query(
    { checks: 'json' },
    sql`SELECT checks FROM sending_domain WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  return row?.checks ?? {};
}

/** The hosts that its mail uses; null: the installation's own. */
export async function hostsOfDomain(db: Queryable, { customerId, id }: DomainKey) {
  const [row] = await db.query(
    { returnPathDomain: 'text?', trackingBaseUrl: 'text?' },
    sql`SELECT CASE WHEN return_path_ready THEN return_path_host END AS "returnPathDomain",
               nullif(tracking_url, '') AS "trackingBaseUrl"
          FROM sending_domain WHERE customer_id = ${customerId} AND id = ${id}`,
    'sending.hosts-of-domain',
  );
  return row ?? { returnPathDomain: null, trackingBaseUrl: null };
}

/**
 * What changes when an identity of the customer may have changed: for caches. As SQL, for statements that read it along with
 * other things.
 */
export function identityVersion(customerId: Sql): Sql {
  return sql`(SELECT concat(count(*), max(d.updated_at)) FROM sending_domain d WHERE d.customer_id = ${customerId}),
             (SELECT d.updated_at FROM sending_domain d WHERE d.is_default)`;
}

/** Whether links of mails lead or led to this host. */
export async function isTrackingHost(db: Queryable, host: string): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM sending_domain WHERE tracking_host = ${host} AND tracking_url <> ''
        UNION ALL SELECT 1 FROM hot.former_tracking_host WHERE host = ${host} LIMIT 1`,
    'sending.is-tracking-host',
  );
  return rows > 0;
}

/** Whether return-paths of some customer's mail are at this host. */
export async function isReturnPathHost(db: Queryable, host: string): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM sending_domain WHERE return_path_host = ${host} AND return_path_ready LIMIT 1`,
    'sending.is-return-path-host',
  );
  return rows > 0;
}

/** The users who look after a domain, at most `max`, each with what the domain is. */
export function peopleOfDomain(db: Queryable, { customerId, id }: DomainKey, max: number) {
  return db.query(
    { email: 'text', name: 'text', status: 'text', uid: 'text' },
    sql`
    SELECT u.email, d.name, d.status, d.uid FROM sending_domain d JOIN app_user u ON u.customer_id = d.customer_id
     WHERE d.customer_id = ${customerId} AND d.id = ${id} ORDER BY u.id LIMIT ${max}`,
  );
}
