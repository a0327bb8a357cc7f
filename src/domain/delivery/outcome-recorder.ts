/**
 * Group commit for the ledger: several jobs of one process send the same campaign, and every write of theirs touches
 * the same row of counters. While one write is on its way the next ones gather and become one statement.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../db/database.ts';
import { recordRefusalsJob } from '../../jobs/bounce-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { byRecipient, HEADER_TOO_LONG, NOT_COMPOSED } from './delivery.ts';
import { settle, type Settled, type SettleInput } from './ledger-store.ts';
import { resolveUnknownAsSent } from './unknown-outcome-store.ts';

/** What one job has to record and wants to hand over next. */
export type RecordRequest = Pick<SettleInput, 'outcomes' | 'next' | 'contentVersion'>;

/** What is the same for all of a process's jobs that send one campaign through one server. */
type RecorderScope = Omit<SettleInput, keyof RecordRequest>;

export interface OutcomeRecorder {
  /** Records the outcomes and answers which of `next` may not be handed over. Outlasts a database that is away. */
  record(request: RecordRequest): Promise<Settled>;
}

interface Waiting extends RecordRequest {
  resolve(settled: Settled): void;
  reject(error: unknown): void;
}

/** The database may be away for a moment; outcomes are kept and tried again until it is back. */
const DATABASE_RETRY_MS = 500;
/**
 * SQLSTATE classes that pass: connection lost, transaction undone (a deadlock's victim), too many connections or a
 * full disk, a lock not to be had, stopped by an operator, input and output, a server that only reads meanwhile.
 */
const PASSING_CLASSES = ['08', '25', '40', '53', '55', '57', '58'];
/** Those that begin with a letter are not of the kind above; `EPIPE` is none at all. */
const SQLSTATE = /^[0-9][0-9A-Z]{4}$/;

/** One for all jobs of a process that send the same campaign through the same server. */
export function createOutcomeRecorder(db: Queryable, log: Log, scope: RecorderScope): OutcomeRecorder {
  let waiting: Waiting[] = [];
  let isWriting = false;

  const writeAll = async (): Promise<void> => {
    isWriting = true;
    // Whoever was just answered asks again at once: those requests belong in the next write, not in the one after.
    for (await setImmediate(); waiting.length > 0; await setImmediate()) {
      const [{ contentVersion } = { contentVersion: null }] = waiting;
      // Jobs that still have the text from before an edit write for themselves.
      const group = waiting.filter((one) => one.contentVersion === contentVersion);
      waiting = waiting.filter((one) => one.contentVersion !== contentVersion);
      const input = {
        ...scope,
        contentVersion,
        outcomes: group.flatMap((one) => one.outcomes),
        // In one order for all workers: two that mark the same rows then wait for each other, not in a circle.
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
      await logRefusals(db, log, input);
      return settled;
    } catch (error) {
      if (!isPassing(error)) throw error;
      log.warn('delivery.record_again', { message: messageOf(error), outcomes: input.outcomes.length });
      await sleep(DATABASE_RETRY_MS);
    }
  }
}

/** Who was refused because nobody is there must not be mailed again: a job of its own looks at what was said. */
async function logRefusals(db: Queryable, log: Log, { key, outcomes }: SettleInput): Promise<void> {
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
    // The outcomes are recorded, and that is what counts: the next message to a dead mailbox will be refused, too.
    log.warn('delivery.refusals_untold', { message: messageOf(error), refused: refused.length });
  }
}

/** Whether writing again may help. What the server took must not be forgotten for trouble that passes. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (SQLSTATE.test(code)) return PASSING_CLASSES.includes(code.slice(0, 2));
  return /^E[A-Z]+$/.test(code) || /connection|timeout/i.test(error.message);
}
