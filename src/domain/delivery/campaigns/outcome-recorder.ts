/**
 * Group commit for the ledger: several jobs of one process send the same campaign, and all their writes update the same row of
 * counters. While one write is under way the next ones gather into one statement.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../../db/database.ts';
import { recordRefusalsJob } from '../../../jobs/bounce-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { countMessages } from '../../sending/count-messages.ts';
import type { SourceKey } from '../../source-key.ts';
import { byRecipient, HEADER_TOO_LONG, NOT_COMPOSED, type DeliveryOutcome } from '../ledger/delivery.ts';
import { settle, type Settled, type SettleInput } from '../ledger/ledger-store.ts';
import { resolveUnknownAsSent } from '../ledger/unknown-outcome-store.ts';

/** What one job has to record and wants to hand over next. */
export type RecordRequest = Pick<SettleInput, 'outcomes' | 'next' | 'contentVersion'>;

/** What is the same for all jobs of a process that send one campaign through one server. */
type RecorderScope = Omit<SettleInput, keyof RecordRequest>;

export interface OutcomeRecorder {
  /** Records the outcomes and returns which of `next` must not be handed over. Waits while the database is away. */
  record(request: RecordRequest): Promise<Settled>;
}

interface Waiting extends RecordRequest {
  resolve(settled: Settled): void;
  reject(error: unknown): void;
}

/** When the database is away outcomes are kept and tried again after this time. */
export const DATABASE_RETRY_MS = 500;
/**
 * Temporary SQLSTATE classes: connection lost, transaction rolled back (a deadlock's victim), too many connections or a full
 * disk, a lock not available, stopped by an operator, I/O errors, a server that is read-only meanwhile.
 */
const PASSING_CLASSES = ['08', '25', '40', '53', '55', '57', '58'];
/** Codes that begin with a letter are not of these classes; `EPIPE` is no SQLSTATE. */
const SQLSTATE = /^[0-9][0-9A-Z]{4}$/;

/** One for all jobs of a process that send the same campaign through the same server. */
export function createOutcomeRecorder(db: Queryable, log: Log, scope: RecorderScope): OutcomeRecorder {
  let waiting: Waiting[] = [];
  let isWriting = false;

  const writeAll = async (): Promise<void> => {
    isWriting = true;
    // Jobs that just got an answer send their next request at once: those belong in the next write, not in the one after.
    for (await setImmediate(); waiting.length > 0; await setImmediate()) {
      const [{ contentVersion } = { contentVersion: null }] = waiting;
      // Jobs with the text before an edit write separately.
      const group = waiting.filter((one) => one.contentVersion === contentVersion);
      waiting = waiting.filter((one) => one.contentVersion !== contentVersion);
      const input = {
        ...scope,
        contentVersion,
        outcomes: group.flatMap((one) => one.outcomes),
        // In the same order for all workers: two that mark the same rows then wait for each other without a deadlock.
        next: group.flatMap((one) => one.next).sort(byRecipient),
      };
      await writeGroup(db, log, input).then(
        (settled) => group.forEach((one) => one.resolve(settled)),
        (error: unknown) => group.forEach((one) => one.reject(error)),
      );
    }
    isWriting = false;
  };
  return {
    record: (request) =>
      new Promise((resolve, reject) => {
        waiting.push({ ...request, resolve, reject });
        if (!isWriting) void writeAll();
      }),
  };
}

async function writeGroup(db: Queryable, log: Log, input: SettleInput): Promise<Settled> {
  for (;;) {
    try {
      const settled = await settle(db, input);
      const sent = input.outcomes.filter((outcome) => outcome.state === 'sent');
      if (settled.recorded < input.outcomes.length && sent.length > 0) {
        await resolveUnknownAsSent(db, input.key, { owner: input.holder.owner, late: sent });
      }
      await recordRefusalsOf(db, log, input);
      countForMonitoring(db, input);
      return settled;
    } catch (error) {
      if (!isPassing(error)) throw error;
      log.warn('delivery.record_again', { message: messageOf(error), outcomes: input.outcomes.length });
      await sleep(DATABASE_RETRY_MS);
    }
  }
}

/** A recipient who goes back into the queue after a try was deferred; one without a try was not handed over. */
function countForMonitoring(db: Queryable, { serverId, outcomes }: SettleInput): void {
  if (serverId === null || outcomes.length === 0) return;
  const counts = { sent: 0, failed: 0, deferred: 0, unknown: 0 };
  for (const { state, isTry } of outcomes) {
    if (state === 'sent' || state === 'failed' || state === 'unknown') counts[state]++;
    else if (state === 'queued' && isTry) counts.deferred++;
  }
  for (const [outcome, messages] of Object.entries(counts))
    if (messages > 0) countMessages(db, { serverId, outcome, messages });
}

/** Recipients who were refused as unknown must not be mailed again: a separate job checks the replies. */
export async function recordRefusalsOf(
  db: Queryable,
  log: Log,
  { key, outcomes }: { readonly key: SourceKey; readonly outcomes: readonly DeliveryOutcome[] },
): Promise<void> {
  const refused = outcomes.filter(
    ({ state, reply, reason }) =>
      state === 'failed' && reply !== null && reason !== NOT_COMPOSED && reason !== HEADER_TOO_LONG,
  );
  if (refused.length === 0) return;
  const { customerId, sourceKind, sourceId } = key;
  try {
    await enqueue(db, recordRefusalsJob, {
      customerId: String(customerId),
      sourceKind,
      sourceId: String(sourceId),
      messages: refused.map(({ recipientId, occurrence }) => ({
        recipientId: String(recipientId),
        occurrence: String(occurrence),
      })),
    });
  } catch (error) {
    // The outcomes are recorded, which is what counts: the next message to an unknown mailbox will be refused, too.
    log.warn('delivery.refusals_untold', { message: messageOf(error), refused: refused.length });
  }
}

/** Whether writing again may help. Accepted messages must not be lost for a temporary failure. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (SQLSTATE.test(code)) return PASSING_CLASSES.includes(code.slice(0, 2));
  return /^E[A-Z]+$/.test(code) || /connection|timeout/i.test(error.message);
}
