/** Deletes expired data of accounts. Scheduled; in slices, so that locks are short. */
import { dropEndedWindows } from '../../db/rate-windows.ts';
import type { Context } from '../context.ts';
import { AUDIT_KEPT_DAYS } from './account-limits.ts';
import { deleteEndedTokens } from './api-token-store.ts';
import { deleteOldAuditEvents } from './audit-store.ts';
import { enqueueFailedDeletions } from './erase-deleted.ts';
import { dropOldCalls } from './idempotent-call-store.ts';
import { deleteEndedLinks } from './login-link-store.ts';

const ROWS_AT_ONCE = 5_000;
/** An ended login is shown to its owner for a while: questions about it come late. */
const ENDED_KEPT_DAYS = 30;

/** Deletes ended logins and links, and old rows of the audit trail; enqueues failed deletions again. */
export async function sweepAccounts({ db }: Context): Promise<void> {
  // Normally a deletion enqueues its job; this covers a job that failed for days.
  await enqueueFailedDeletions({ db });
  const max = ROWS_AT_ONCE;
  await inSlices(() => deleteEndedLinks(db, max));
  await inSlices(() => deleteEndedTokens(db, { days: ENDED_KEPT_DAYS, max }));
  await inSlices(() => deleteOldAuditEvents(db, { days: AUDIT_KEPT_DAYS, max }));
}

/** Deletes expired data of requests and logins: windows of limits, answers of idempotent calls. */
export async function sweepRequests({ database }: Context): Promise<void> {
  await dropEndedWindows(database);
  await dropOldCalls(database);
}

async function inSlices(deleteSlice: () => Promise<number>): Promise<void> {
  while ((await deleteSlice()) === ROWS_AT_ONCE);
}
