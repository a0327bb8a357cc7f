/**
 * Group commit for messages that are not of a campaign: while one write is under way, the next outcomes and marks of this process
 * gather into one statement.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { countMessages } from '../../sending/count-messages.ts';
import type { Leaseholder } from '../ledger/ledger-store.ts';
import {
  settleMessages,
  type MessageHandover,
  type MessageOutcome,
  type SettledMessages,
  type TakenMessage,
} from './message-queue-store.ts';
import { DATABASE_RETRY_MS, isPassing, recordRefusalsOf } from '../campaigns/outcome-recorder.ts';

export interface MessageRecorder {
  /** Marks the message as being handed over; false: its reader has changed, or another worker has it. */
  mark(handover: MessageHandover): Promise<boolean>;
  /** Records the outcome. Waits while the database is away. */
  record(message: TakenMessage, outcome: MessageOutcome): Promise<void>;
}

/** So long after a write the next ones gather: messages that are under way at the same time end at different moments. */
const GATHER_MS = 5;

type Request =
  | { readonly handover: MessageHandover }
  | { readonly outcome: MessageOutcome; readonly message: TakenMessage };

type Waiting = Request & { resolve(settled: SettledMessages): void; reject(error: unknown): void };

/** The recorder of one process. */
export function createMessageRecorder(ctx: Context, holder: Leaseholder): MessageRecorder {
  let waiting: Waiting[] = [];
  let isWriting = false;

  const writeAll = async (): Promise<void> => {
    isWriting = true;
    for (await setImmediate(); waiting.length > 0; await sleep(GATHER_MS)) {
      const group = waiting;
      waiting = [];
      await writeGroup(ctx, holder, group).then(
        (settled) => group.forEach((one) => one.resolve(settled)),
        (error: unknown) => group.forEach((one) => one.reject(error)),
      );
    }
    isWriting = false;
  };
  const ask = (request: Request): Promise<SettledMessages> =>
    new Promise((resolve, reject) => {
      waiting.push({ ...request, resolve, reject });
      if (!isWriting) void writeAll();
    });
  return {
    mark: async (handover) => (await ask({ handover })).marked.has(handover.id),
    record: async (message, outcome) => void (await ask({ message, outcome })),
  };
}

async function writeGroup(ctx: Context, holder: Leaseholder, group: readonly Waiting[]): Promise<SettledMessages> {
  const next = group.flatMap((one) => ('handover' in one ? [one.handover] : [])).sort((a, b) => (a.id < b.id ? -1 : 1));
  const ended = group.flatMap((one) => ('outcome' in one ? [one] : []));
  const outcomes = ended.map(({ outcome }) => outcome);
  for (;;) {
    try {
      const settled = await settleMessages(ctx.db, holder, { outcomes, next });
      for (const { outcome } of ended) countForMonitoring(ctx, outcome);
      await recordRefusals(ctx, ended);
      return settled;
    } catch (error) {
      if (!isPassing(error)) throw error;
      ctx.log.warn('messages.record_again', { message: messageOf(error), outcomes: outcomes.length });
      await sleep(DATABASE_RETRY_MS);
    }
  }
}

function countForMonitoring({ db }: Context, { serverId, state, isTry }: MessageOutcome): void {
  if (serverId === null) return;
  const outcome = state === 'queued' && isTry ? 'deferred' : state;
  if (outcome === 'sent' || outcome === 'failed' || outcome === 'unknown' || outcome === 'deferred')
    countMessages(db, { serverId, outcome, messages: 1 });
}

/** By source, as the job takes them. */
async function recordRefusals(
  { db, log }: Context,
  ended: readonly { message: TakenMessage; outcome: MessageOutcome }[],
): Promise<void> {
  const failed = ended.filter(({ outcome }) => outcome.state === 'failed' && outcome.serverId !== null);
  const bySource = Map.groupBy(failed, ({ message: m }) => `${m.customerId} ${m.sourceKind} ${m.sourceId}`);
  for (const group of bySource.values()) {
    const [first] = group;
    if (first) await recordRefusalsOf(db, log, { key: first.message, outcomes: group.map(({ outcome }) => outcome) });
  }
}
