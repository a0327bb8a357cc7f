/** Reads and writes of automations and their versions. */
import { empty, sql, row, typed, type Queryable } from '../../db/database.ts';
import type { Automation, AutomationStatus } from './automation.ts';
import type { Flow } from './flow/flow.ts';

const AUTOMATION_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  listId: 'bigint',
  listUid: 'text',
  name: 'text',
  status: typed<AutomationStatus>('text'),
  draft: 'json',
  draftVersion: 'int',
  liveVersion: 'int?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
});

const COLUMNS = sql`a.customer_id AS "customerId", a.id, a.uid, a.list_id AS "listId", l.uid AS "listUid", a.name, a.status, a.draft,
  a.draft_version AS "draftVersion", a.live_version AS "liveVersion", a.created_at AS "createdAt", a.updated_at AS "updatedAt"`;
const TABLES = sql`automation a JOIN mail_list l ON l.customer_id = a.customer_id AND l.id = a.list_id`;

/** The customer's automation with this uid; `change` locks it until the transaction ends. */
export async function findAutomation(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string },
  lock: 'none' | 'change' = 'none',
): Promise<Automation | undefined> {
  const [found] = await db.query(
    AUTOMATION_ROW,
    sql`SELECT ${COLUMNS} FROM ${TABLES} WHERE a.customer_id = ${customerId} AND a.uid = ${uid} ${lock === 'change' ? sql`FOR UPDATE OF a` : empty}`,
  );
  return found;
}

/** Whether any customer has an automation with this uid. */
export async function automationExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM automation WHERE uid = ${uid}`)) > 0;
}

export async function countAutomations(db: Queryable, customerId: bigint): Promise<number> {
  const [found] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM automation WHERE customer_id = ${customerId}`,
  );
  return found?.count ?? 0;
}

/** Undefined: it is gone. `hold`: nobody pauses it, or publishes another version, until the transaction ends. */
export async function automationStatus(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  lock: 'none' | 'hold' = 'none',
): Promise<AutomationStatus | undefined> {
  const [found] = await db.query(
    { status: typed<AutomationStatus>('text') },
    sql`SELECT status FROM automation WHERE customer_id = ${customerId} AND id = ${automationId} ${lock === 'hold' ? sql`FOR SHARE` : empty}`,
  );
  return found?.status;
}

export interface NewAutomation {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly uid: string;
  readonly name: string;
  readonly draft: unknown;
}

export async function insertAutomation(db: Queryable, given: NewAutomation): Promise<void> {
  await db.execute(sql`
    INSERT INTO automation (customer_id, list_id, uid, name, draft)
    VALUES (${given.customerId}, ${given.listId}, ${given.uid}, ${given.name}, ${JSON.stringify(given.draft)}::jsonb)`);
}

type AutomationKey = Pick<Automation, 'customerId' | 'id'>;

export interface AutomationChange {
  readonly name?: string | undefined;
  readonly draft?: unknown;
}

/** Writes the given values of a locked automation; a draft gets the next version. */
export async function writeAutomation(
  db: Queryable,
  { customerId, id }: AutomationKey,
  { name, draft }: AutomationChange,
): Promise<void> {
  const text = draft === undefined ? null : JSON.stringify(draft);
  await db.execute(sql`
    UPDATE automation SET name = coalesce(${name ?? null}, name), updated_at = now(), draft = coalesce(${text}::jsonb, draft),
           draft_version = draft_version + (${text}::text IS NOT NULL)::int
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

export async function writeStatus(
  db: Queryable,
  { customerId, id }: AutomationKey,
  status: AutomationStatus,
): Promise<void> {
  await db.execute(
    sql`UPDATE automation SET status = ${status}, updated_at = now() WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** Whether the version that people enter is this flow. */
export async function isLiveFlow(
  db: Queryable,
  { customerId, id, liveVersion }: Pick<Automation, 'customerId' | 'id' | 'liveVersion'>,
  flow: Flow,
): Promise<boolean> {
  const found = await db.execute(sql`
    SELECT 1 FROM automation_version
     WHERE customer_id = ${customerId} AND automation_id = ${id} AND number = ${liveVersion} AND flow = ${JSON.stringify(flow)}::jsonb`);
  return found > 0;
}

/** Stores a version of a locked automation, and makes it the one that people enter. Returns its number. */
export async function insertVersion(
  db: Queryable,
  { customerId, id }: AutomationKey,
  { flow, publishedBy }: { readonly flow: Flow; readonly publishedBy: string },
): Promise<number> {
  const [made] = await db.query(
    { number: 'int' },
    sql`WITH made AS (
          INSERT INTO automation_version (customer_id, automation_id, number, flow, published_by)
          SELECT ${customerId}, ${id}, coalesce(max(number), 0) + 1, ${JSON.stringify(flow)}::jsonb, ${publishedBy}
            FROM automation_version WHERE customer_id = ${customerId} AND automation_id = ${id}
          RETURNING number)
        UPDATE automation a SET live_version = made.number, updated_at = now() FROM made
         WHERE a.customer_id = ${customerId} AND a.id = ${id} RETURNING made.number AS number`,
  );
  if (!made) throw new Error('A locked automation is gone.');
  return made.number;
}
