/**
 * Reads a bounce handler's mailbox. The report, the record that the message was processed, and its count are one commit; only
 * then is it deleted. A message that makes the program fail or crash is set aside after some tries, and the others continue.
 */
import { messageOf } from '../../lib/errors.ts';
import { inTransaction, type Context } from '../context.ts';
import { withPartitions } from '../tracking/partitions.ts';
import { countFound, leaseHandler, releaseHandler, mailboxAddressOf, renewLease } from './bounce-handler-store.ts';
import type { BounceHandler, BounceHandlerKey } from './bounce-handler.ts';
import { deleteMessages, knownMessages, messageKey, noteAttempt, noteOutcome } from './bounce-message-store.ts';
import type { Mailbox } from './mailbox.ts';
import { openMailbox } from './open-mailbox.ts';
import { receiveMailReport, type ReceivedReport } from './receive-mail-report.ts';
import { watchReportSource, type ReportSource } from './report-source-store.ts';

/** Bounces are not urgent, and servers dislike frequent polls. */
const POLL_SECONDS = 120;
/** More are waiting: poll again at once. */
const AGAIN_SECONDS = 1;
/** How long one process holds a mailbox; if it dies, another may take it after this. */
const HOLD_SECONDS = 300;
const MESSAGES_PER_POLL = 500;
/** Well within a session (mailbox.ts): processed messages are deleted properly, and the rest is read by the next poll. */
const READING_MS_MAX = 300_000;
const RENEWED_EVERY = 25;
const ATTEMPTS_MAX = 3;

/** Outcomes about our messages, even if nothing was new: the mail is no longer needed. */
const DEALT_WITH = new Set(['recorded', 'known', 'too old', 'not sent', 'not found']);
/** The outcome of a message that was given up. */
const SET_ASIDE = 'set aside';
const ERROR_LENGTH_MAX = 500;

/** Reads new messages, unless another process does. A mailbox's failure does not throw: the handler shows it. */
export async function pollBounceHandler(ctx: Context, key: BounceHandlerKey, abortSignal: AbortSignal): Promise<void> {
  const handler = await leaseHandler(ctx.db, key, HOLD_SECONDS);
  if (!handler) return;
  try {
    const address = mailboxAddressOf(ctx.installation.secret, handler);
    const mailbox = await openMailbox(ctx, { address, isSystem: handler.isSystem });
    try {
      const isMore = await readMailbox({ ctx, handler, mailbox, abortSignal });
      if (handler.isSystem) await watchReportSource(ctx.db, sourceOf(handler));
      await releaseHandler(ctx.db, key, { error: null, nextSeconds: isMore ? AGAIN_SECONDS : POLL_SECONDS });
    } finally {
      await mailbox.close();
    }
  } catch (error) {
    const reason = messageOf(error).slice(0, ERROR_LENGTH_MAX);
    ctx.log.warn('bounces.mailbox_failed', { handlerId: handler.id, message: reason });
    await releaseHandler(ctx.db, key, { error: reason, nextSeconds: POLL_SECONDS });
  }
}

interface Reading {
  readonly ctx: Context;
  readonly handler: BounceHandler;
  readonly mailbox: Mailbox;
  readonly abortSignal: AbortSignal;
}

/** Returns whether more is waiting. */
async function readMailbox(reading: Reading): Promise<boolean> {
  const { ctx, handler, mailbox, abortSignal } = reading;
  const until = performance.now() + READING_MS_MAX;
  const names = await mailbox.list();
  const known = await knownMessages(ctx.db, handler);
  const keys = new Set(names.map(messageKey));
  await deleteMessages(
    ctx.db,
    handler,
    [...known.keys()].filter((key) => !keys.has(key)),
  );
  // Processed, but still there: the connection broke before it was deleted.
  const left = handler.keepsReports ? [] : names.filter((name) => DEALT_WITH.has(known.get(messageKey(name)) ?? ''));
  await mailbox.remove(left);
  const fresh = names.filter((name) => (known.get(messageKey(name)) ?? null) === null);
  let done: string[] = [];
  let isLate = false;
  for (const [index, name] of fresh.slice(0, MESSAGES_PER_POLL).entries()) {
    isLate = performance.now() > until;
    if (abortSignal.aborted || isLate) break;
    if (index % RENEWED_EVERY === 0) {
      if (!(await renewLease(ctx.db, handler, HOLD_SECONDS))) return false;
      await mailbox.remove(done);
      done = [];
    }
    if ((await take(reading, name)) && !handler.keepsReports) done.push(name);
  }
  await mailbox.remove(done);
  return isLate || fresh.length > MESSAGES_PER_POLL;
}

/** Whether the message may be deleted. */
async function take({ ctx, handler, mailbox }: Reading, name: string): Promise<boolean> {
  // Counted before it is read, so that a message that crashes the process is counted, too.
  if ((await noteAttempt(ctx.db, handler, name)) > ATTEMPTS_MAX) {
    ctx.log.warn('bounces.message_set_aside', { handlerId: handler.id });
    await inTransaction(ctx, async ({ db }) => {
      await countFound(db, handler, 'other');
      await noteOutcome(db, handler, { name, outcome: SET_ASIDE });
    });
    return false;
  }
  const raw = await mailbox.read(name);
  if (!raw) return false;
  try {
    const { outcome } = await receive(ctx, handler, { name, raw });
    return DEALT_WITH.has(outcome);
  } catch (error) {
    ctx.log.error('bounces.message_failed', { handlerId: handler.id, message: messageOf(error) });
    return false;
  }
}

function foundIn({ verdict, outcome }: ReceivedReport): 'bounce' | 'complaint' | 'other' {
  if (!DEALT_WITH.has(outcome) || verdict === 'unsubscribe') return 'other';
  return verdict === 'complaint' ? 'complaint' : 'bounce';
}

const sourceOf = ({ uid }: BounceHandler): ReportSource => ({ kind: 'mailbox', uid });

function receive(
  ctx: Context,
  handler: BounceHandler,
  { name, raw }: { name: string; raw: Buffer },
): Promise<ReceivedReport> {
  const owner = handler.isSystem ? { source: sourceOf(handler) } : { customerId: handler.customerId };
  return withPartitions(ctx, () =>
    inTransaction(ctx, async (inner) => {
      const report = await receiveMailReport(inner, { raw, ...owner });
      // The handler before its message: both are deleted in this order.
      await countFound(inner.db, handler, foundIn(report));
      await noteOutcome(inner.db, handler, { name, outcome: report.outcome });
      return report;
    }),
  );
}
