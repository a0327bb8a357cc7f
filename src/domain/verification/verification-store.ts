/** Writes of verifications, and the row as verbs need it. Every change of state is conditional, and watchers are notified. */
import { sql, type Queryable, type Sql } from '../../db/database.ts';
import { columnsOf, insertion, selectList } from '../../db/fields.ts';
import { notify } from '../../db/listen.ts';
import { newVerificationFields, verificationColumns, type VerificationStatus } from './verification-fields.ts';
import {
  VERIFICATION_CHANNEL,
  type NewVerification,
  type ResultCounts,
  type Verification,
  type VerificationKey,
} from './verification.ts';

const ROW = columnsOf(verificationColumns);
const COLUMNS = selectList(verificationColumns, 'v');

export async function insertVerification(db: Queryable, run: NewVerification): Promise<Verification> {
  const [row] = await db.query(
    ROW,
    sql`INSERT INTO verification AS v ${insertion(newVerificationFields, run)} RETURNING ${COLUMNS}`,
  );
  if (!row) throw new Error('An inserted verification came back empty.');
  return row;
}

/** The customer's verification with this uid. */
export async function findVerification(
  db: Queryable,
  { customerId, uid }: Pick<Verification, 'customerId' | 'uid'>,
): Promise<Verification | undefined> {
  const [row] = await db.query(
    ROW,
    sql`SELECT ${COLUMNS} FROM verification v WHERE customer_id = ${customerId} AND uid = ${uid}`,
  );
  return row;
}

/** The one with this key, unless it has ended. */
export async function openVerification(
  db: Queryable,
  { customerId, id }: VerificationKey,
): Promise<Verification | undefined> {
  const [row] = await db.query(
    ROW,
    sql`SELECT ${COLUMNS} FROM verification v
         WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('queued', 'running', 'paused')`,
  );
  return row;
}

/** Whether any customer has one with this uid. */
export async function verificationExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM verification WHERE uid = ${uid} LIMIT 1`)) > 0;
}

/** Whether the list has one that has not ended. */
export async function hasOpenVerification(
  db: Queryable,
  { customerId, listId }: Pick<Verification, 'customerId' | 'listId'>,
): Promise<boolean> {
  const open = await db.execute(
    sql`SELECT 1 FROM verification WHERE customer_id = ${customerId} AND list_id = ${listId} AND status IN ('queued', 'running', 'paused') LIMIT 1`,
  );
  return open > 0;
}

/** Whether an older run of the same list is under way. */
export async function isBehindAnother(db: Queryable, { customerId, id }: VerificationKey): Promise<boolean> {
  const before = await db.execute(
    sql`SELECT 1 FROM verification v JOIN verification b ON b.customer_id = v.customer_id AND b.list_id = v.list_id AND b.id < v.id
         WHERE v.customer_id = ${customerId} AND v.id = ${id} AND b.status IN ('queued', 'running') LIMIT 1`,
  );
  return before > 0;
}

/** Marks it as running; undefined when it has ended. */
export async function markVerificationRunning(
  db: Queryable,
  { customerId, id }: VerificationKey,
): Promise<Verification | undefined> {
  const [row] = await db.query(
    ROW,
    sql`UPDATE verification v SET status = 'running', reason = NULL, retry_at = NULL, started_at = coalesce(started_at, now())
         WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('queued', 'running', 'paused') RETURNING ${COLUMNS}`,
  );
  if (row) await notify(db, VERIFICATION_CHANNEL, row.uid);
  return row;
}

export async function writeTotal(db: Queryable, { customerId, id }: VerificationKey, total: number): Promise<void> {
  await db.execute(
    sql`UPDATE verification SET total = ${total} WHERE customer_id = ${customerId} AND id = ${id} AND total IS NULL`,
  );
}

export interface VerifiedStretch {
  readonly from: bigint;
  /** Everybody up to this id is done. */
  readonly to: bigint;
  readonly counts: ResultCounts;
  /** How many of them were known from other lists. */
  readonly reused: number;
  readonly suppressed: number;
  /** No call has failed. */
  readonly isWhole: boolean;
}

/**
 * Counts answers and stores where the next ones begin; also when somebody has cancelled it meanwhile, because they were given. Answers its
 * status; undefined: another process has done so, or the list is gone.
 */
export async function advanceVerification(
  db: Queryable,
  { customerId, id, uid }: VerificationKey & Pick<Verification, 'uid'>,
  { from, to, counts, reused, suppressed, isWhole }: VerifiedStretch,
): Promise<VerificationStatus | undefined> {
  const { deliverable, undeliverable, risky, unknown } = counts;
  const processed = deliverable + undeliverable + risky + unknown;
  const [row] = await db.query(
    { status: verificationColumns.status.type },
    sql`UPDATE verification
           SET after_id = ${to}, processed = processed + ${processed}, deliverable = deliverable + ${deliverable},
               undeliverable = undeliverable + ${undeliverable}, risky = risky + ${risky}, unknown = unknown + ${unknown}, reused = reused + ${reused},
               suppressed = suppressed + ${suppressed},
               total = greatest(total, processed + ${processed}), failures = CASE WHEN ${isWhole} THEN 0 ELSE failures END
         WHERE customer_id = ${customerId} AND id = ${id} AND after_id = ${from} AND status IN ('running', 'cancelled')
        RETURNING status`,
    'verification.advance',
  );
  if (row) await notify(db, VERIFICATION_CHANNEL, uid);
  return row?.status;
}

/** A running one pauses; `retryInSeconds` null: until somebody resumes it. Returns whether it was running. */
export function pauseVerification(
  db: Queryable,
  key: VerificationKey,
  { reason, retryInSeconds }: { readonly reason: string; readonly retryInSeconds: number | null },
): Promise<boolean> {
  return change(
    db,
    key,
    sql`status = 'paused', reason = ${reason}, failures = failures + 1, retry_at = now() + make_interval(secs => ${retryInSeconds}::float8)`,
    sql`status = 'running'`,
  );
}

/** A paused one is queued again. Returns whether it was paused. */
export function requeueVerification(db: Queryable, key: VerificationKey): Promise<boolean> {
  return change(db, key, sql`status = 'queued', reason = NULL, retry_at = NULL, failures = 0`, sql`status = 'paused'`);
}

/** Ends one that has not ended. Returns whether it had not. */
export function endVerification(db: Queryable, key: VerificationKey, status: 'done' | 'cancelled'): Promise<boolean> {
  const set = sql`status = ${status}, reason = NULL, retry_at = NULL, finished_at = now()`;
  return change(
    db,
    key,
    set,
    status === 'done' ? sql`status = 'running'` : sql`status IN ('queued', 'running', 'paused')`,
  );
}

async function change(db: Queryable, { customerId, id }: VerificationKey, set: Sql, where: Sql): Promise<boolean> {
  const [row] = await db.query(
    { uid: 'text' },
    sql`UPDATE verification SET ${set} WHERE customer_id = ${customerId} AND id = ${id} AND ${where} RETURNING uid`,
  );
  if (row) await notify(db, VERIFICATION_CHANNEL, row.uid);
  return row !== undefined;
}
