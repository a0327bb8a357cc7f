/** Rows of sending domains: writes, and the reads that the verbs need. */
import { join, sql, type Queryable, type Sql } from '../../../db/database.ts';
import { assignments, insertion, selectList, columnsOf, type ValuesOf } from '../../../db/fields.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import { domainColumns, domainFields, newDomainFields, type DomainStatus } from './sending-domain-fields.ts';
import { GRACE_HOURS, type DomainChecks, type SendingDomain } from './sending-domain.ts';

const SENDING_DOMAIN_ROW = columnsOf(domainColumns);

const DOMAIN_COLUMNS = selectList(domainColumns, 'd');

export interface DomainKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

type NewDomain = Pick<
  SendingDomain,
  'customerId' | 'uid' | 'name' | 'token' | 'isDefault' | 'usesEd25519' | 'returnPathHost' | 'trackingHost'
>;

/** The new domain's id, or undefined when the customer has one of this name. */
export async function insertDomain(db: Queryable, domain: NewDomain): Promise<bigint | undefined> {
  const nextCheckAt = sql`now() + interval '10 minutes'`;
  const [row] = await db.query(
    { id: 'bigint' },
    sql`
    INSERT INTO sending_domain ${insertion(newDomainFields, { ...domain, nextCheckAt })}
    ON CONFLICT (customer_id, name) DO NOTHING RETURNING id`,
  );
  return row?.id;
}

/** The customer's domain with this uid; `lock` prevents others from changing or deleting it. */
export async function findDomain(
  db: Queryable,
  key: { customerId: bigint; uid: string },
  lock = false,
): Promise<SendingDomain | undefined> {
  const [row] = await db.query(
    SENDING_DOMAIN_ROW,
    sql`
    SELECT ${DOMAIN_COLUMNS} FROM sending_domain d
     WHERE d.customer_id = ${key.customerId} AND d.uid = ${key.uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

export async function lockDomain(db: Queryable, { customerId, id }: DomainKey): Promise<SendingDomain | undefined> {
  const [row] = await db.query(
    SENDING_DOMAIN_ROW,
    sql`
    SELECT ${DOMAIN_COLUMNS} FROM sending_domain d WHERE d.customer_id = ${customerId} AND d.id = ${id} FOR UPDATE`,
  );
  return row;
}

export async function domainUidExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM sending_domain WHERE uid = ${uid} LIMIT 1`)) > 0;
}

export async function countDomains(db: Queryable, customerId: bigint): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM sending_domain WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

export type DomainChanges = Omit<ValuesOf<typeof domainFields>, 'customerId' | 'uid' | 'name' | 'token'>;

/** Writes the given values. */
export async function updateDomainRow(db: Queryable, domain: DomainKey, changes: DomainChanges): Promise<void> {
  const written = [sql`updated_at = clock_timestamp()`, ...assignments(domainFields, changes)];
  await db.execute(
    sql`UPDATE sending_domain SET ${join(written)} WHERE customer_id = ${domain.customerId} AND id = ${domain.id}`,
  );
}

/** There is one default domain at most. */
export async function unsetDefault(db: Queryable): Promise<void> {
  // For two administrators at once: the second must see the first one's choice.
  await lockUntilCommit(db, 'mailwright:default-domain');
  await db.execute(sql`UPDATE sending_domain SET is_default = false, updated_at = clock_timestamp() WHERE is_default`);
}

export async function deleteDomainRow(db: Queryable, { customerId, id }: DomainKey): Promise<void> {
  await db.execute(sql`DELETE FROM sending_domain WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** The domains whose time has come, at most `max`; unless somebody looks at them they are due again in an hour. */
export async function takeDueDomains(db: Queryable, max: number): Promise<SendingDomain[]> {
  return db.query(
    SENDING_DOMAIN_ROW,
    sql`
    UPDATE sending_domain d SET next_check_at = now() + interval '1 hour'
      FROM (SELECT customer_id, id FROM sending_domain WHERE next_check_at <= now()
             ORDER BY next_check_at LIMIT ${max} FOR UPDATE SKIP LOCKED) AS next
     WHERE d.customer_id = next.customer_id AND d.id = next.id
    RETURNING ${DOMAIN_COLUMNS}`,
  );
}

/** Notes that its owner wants a look; false: that was less than `pauseSeconds` ago. */
export async function noteCheckRequest(
  db: Queryable,
  { customerId, id }: DomainKey,
  pauseSeconds: number,
): Promise<boolean> {
  const noted = await db.execute(sql`
    UPDATE sending_domain SET check_requested_at = now()
     WHERE customer_id = ${customerId} AND id = ${id}
       AND (check_requested_at IS NULL OR check_requested_at < now() - make_interval(secs => ${pauseSeconds}::int))`);
  return noted > 0;
}

/** Whether the time of grace of a failing domain is over. */
export async function isGraceOver(db: Queryable, { customerId, id }: DomainKey): Promise<boolean> {
  const over = await db.execute(sql`
    SELECT 1 FROM sending_domain WHERE customer_id = ${customerId} AND id = ${id}
       AND now() > failing_since + make_interval(hours => ${GRACE_HOURS}::int)`);
  return over > 0;
}

/** Another customer's domain of this name that is proved; nobody changes it until the transaction ends. */
export async function lockOtherHolder(db: Queryable, { customerId, name }: SendingDomain) {
  const [holder] = await db.query(
    { customerId: 'bigint', id: 'bigint', token: 'text' },
    sql`
    SELECT customer_id AS "customerId", id, token FROM sending_domain
     WHERE name = ${name} AND status IN ('verified', 'failing') AND customer_id <> ${customerId} FOR UPDATE`,
  );
  return holder;
}

/** It is lost at once, without a time of grace. */
export async function loseDomain(db: Queryable, { customerId, id }: DomainKey): Promise<void> {
  await db.execute(sql`
    UPDATE sending_domain SET status = 'lost', is_default = false, return_path_ready = false, tracking_url = '', failing_since = now(),
           updated_at = clock_timestamp()
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** Writes what a look at the records found, and when the next one is due. */
export async function writeCheck(
  db: Queryable,
  { customerId, id }: DomainKey,
  found: {
    readonly status: DomainStatus;
    readonly checks: DomainChecks;
    readonly returnPathReady: boolean;
    readonly trackingUrl: string;
  },
): Promise<void> {
  const status = sql`${found.status}::text`;
  await db.execute(sql`
    UPDATE sending_domain
       SET status = ${status}, checks = ${JSON.stringify(found.checks)}::jsonb, checked_at = now(),
           return_path_ready = ${found.returnPathReady}, tracking_url = ${found.trackingUrl},
           verified_at = CASE WHEN ${status} = 'verified' THEN coalesce(verified_at, now()) ELSE verified_at END,
           failing_since = CASE WHEN ${status} IN ('failing', 'lost') THEN coalesce(failing_since, now()) END,
           is_default = is_default AND ${status} <> 'lost',
           next_check_at = ${nextCheck(status)}, updated_at = clock_timestamp()
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** Daily while all is right, hourly while its owner probably corrects it, never for a lost one. */
function nextCheck(status: Sql): Sql {
  return sql`CASE
    WHEN ${status} = 'verified' THEN now() + interval '1 day' * (0.9 + 0.2 * random())
    WHEN ${status} = 'failing' OR created_at > now() - interval '3 days' THEN now() + interval '1 hour'
    WHEN ${status} = 'lost' OR created_at > now() - interval '30 days' THEN now() + interval '1 day' END`;
}
