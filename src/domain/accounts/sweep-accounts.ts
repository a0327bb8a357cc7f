/** Deletes expired data of accounts. Scheduled; in slices, so that locks are short. */
import { sql, type Sql } from '../../db/database.ts';
import { dropEndedWindows } from '../../db/rate-windows.ts';
import type { Context } from '../context.ts';
import { AUDIT_KEPT_DAYS } from './account-limits.ts';
import { enqueueFailedDeletions } from './erase-deleted.ts';
import { dropOldCalls } from './idempotent-calls.ts';

const ROWS_AT_ONCE = 5_000;
/** An ended login is shown to its owner for a while: questions about it come late. */
const ENDED_KEPT_DAYS = 30;

/** Deletes ended logins and links, and old rows of the audit trail; enqueues failed deletions again. */
export async function sweepAccounts(ctx: Context): Promise<void> {
  // Normally a deletion enqueues its job; this covers a job that failed for days.
  await enqueueFailedDeletions(ctx);
  await inSlices(
    ctx,
    sql`DELETE FROM login_token WHERE (customer_id, digest) IN (
    SELECT customer_id, digest FROM login_token WHERE expires_at < now() LIMIT ${ROWS_AT_ONCE})`,
  );
  await inSlices(
    ctx,
    sql`DELETE FROM api_token WHERE (customer_id, id) IN (
    SELECT customer_id, id FROM api_token
     WHERE least(revoked_at, expires_at) < now() - make_interval(days => ${ENDED_KEPT_DAYS}) LIMIT ${ROWS_AT_ONCE})`,
  );
  // Ids grow with time: the oldest are at the beginning of the index.
  await inSlices(
    ctx,
    sql`DELETE FROM hot.audit_event WHERE id IN (
    SELECT id FROM (SELECT id, at FROM hot.audit_event ORDER BY id LIMIT ${ROWS_AT_ONCE}) oldest
     WHERE at < now() - make_interval(days => ${AUDIT_KEPT_DAYS}))`,
  );
}

/** Deletes expired data of requests and logins: windows of limits, answers of idempotent calls. */
export async function sweepRequests({ database }: Context): Promise<void> {
  await dropEndedWindows(database);
  await dropOldCalls(database);
}

async function inSlices({ db }: Context, statement: Sql): Promise<void> {
  while ((await db.execute(statement)) === ROWS_AT_ONCE);
}
