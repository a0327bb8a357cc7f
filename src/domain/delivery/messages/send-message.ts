/**
 * Sends one message that is not of a campaign: composes it, waits for a permit, marks it, hands it over, and says what became of
 * it. If a server certainly did not accept it and is at fault itself, the next one is tried.
 */
import { domainOf } from '../../../lib/mail-domain.ts';
import { messageOf } from '../../../lib/errors.ts';
import { SharedReads } from '../../../lib/shared-reads.ts';
import { SendingError } from '../../../plugin-api/index.ts';
import { hasRunningPlan } from '../../billing/plans/require-allowed.ts';
import type { FilledMessage } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import { PRIORITIES } from '../../messages/message.ts';
import type { DriverPool, SendingChannel } from '../../sending/driver-pool.ts';
import { isAboutSetUp } from '../../sending/replies/judge-reply.ts';
import type { FlowCaps } from '../flow-mails/flow-caps.ts';
import type { FlowBudget, Held } from '../flow-mails/flow-budget.ts';
import { passGate, type Passage } from './message-passage.ts';
import { composeMessage } from './compose-message.ts';
import type { MessageToSend } from './message-composition.ts';
import { notComposed } from './message-not-composed.ts';
import type { MessageRecorder } from './message-recorder.ts';
import type { MessageHandover, MessageOutcome, TakenMessage } from './message-queue-store.ts';
import { PermissionToSend } from '../campaigns/permission-to-send.ts';
import { NO_SERVER_DELAY_SECONDS } from '../ledger/delivery.ts';
import { heldByQuietHours } from '../campaigns/wait-for-quiet-hours.ts';
import { changed, closed, heldBack, judged, stopped, storable, waits } from './message-outcome.ts';

export interface MessageTools {
  readonly ctx: Context;
  readonly drivers: DriverPool;
  readonly recorder: MessageRecorder;
  /** Of mails of flows. */
  readonly budget: FlowBudget;
  readonly caps: FlowCaps;
  /** The customer's mails of flows are held back for so long: no further ones are taken. */
  rest(customerId: bigint, seconds: number): void;
  /** Nothing new is begun any more. */
  isStopping(): boolean;
}

/** Messages that are begun at the same time are mostly of the same customer. */
const plans = new SharedReads<boolean>();

/** The outcome, or `again`: nothing was handed over, and it is due at once. Throws when the database is away. */
export async function sendMessage(tools: MessageTools, message: TakenMessage): Promise<MessageOutcome | 'again'> {
  const { ctx, drivers } = tools;
  const { denialReason, customerId } = message;
  if (denialReason === 'flow_stopped') return stopped(message);
  if (denialReason !== null)
    return closed(message, denialReason === 'suppressed' ? 'suppressed' : 'skipped', denialReason);
  if (needsPlan(message) && !(await plans.read(ctx.db, String(customerId), () => hasRunningPlan(ctx.db, customerId))))
    return closed(message, 'skipped', 'no_plan');
  const isQuiet = await heldByQuietHours(ctx.db, message);
  if (isQuiet) return heldBack(message, isQuiet);
  let composed;
  try {
    composed = await composeMessage(ctx, message);
  } catch (error) {
    return notComposed(ctx, message, error);
  }
  if (composed === 'again') return 'again';
  if ('skip' in composed) return closed(message, 'skipped', composed.skip);
  const isOfFlow = message.priority === PRIORITIES.flow;
  const held = isOfFlow ? await tools.budget.take(message) : undefined;
  if (held) return rested(tools, message, held);
  const channel = await drivers.channelFor(ctx, customerId, composed.campaignId);
  if (!channel) return isOfFlow ? rested(tools, message, NO_SERVER) : waits(message, 'no_server');
  return handOver(tools, { message, composed, channel });
}

const NO_SERVER: Held = { reason: 'no_server', delaySeconds: NO_SERVER_DELAY_SECONDS };

/** What holds back one mail of a flow holds back the customer's next ones, too. */
function rested(tools: MessageTools, message: TakenMessage, held: Held): MessageOutcome {
  if (!held.isOfDomain) tools.rest(message.customerId, held.delaySeconds);
  return heldBack(message, held);
}

/** The program's own mails need none; those of flows, and what goes as they do, wait for one. */
function needsPlan({ purpose, priority }: TakenMessage): boolean {
  return purpose !== 'notice' && priority !== PRIORITIES.flow;
}

interface Handing {
  readonly message: TakenMessage;
  readonly composed: MessageToSend;
  readonly channel: SendingChannel;
}

async function handOver(
  tools: MessageTools,
  { channel: first, ...handing }: Handing,
): Promise<MessageOutcome | 'again'> {
  const { ctx, drivers } = tools;
  const { message, composed } = handing;
  const without = new Set<bigint>();
  let isMarked = false;
  for (let channel = first; ;) {
    const end = await sendThrough(tools, { ...handing, channel }, isMarked);
    if (end === 'again' || end.error === undefined) return end === 'again' ? end : end.outcome;
    isMarked = true;
    // Certainly not accepted, and the server is at fault: without this no later try would choose another server. A fault of
    // set-up may be about this recipient's host; for one message another server is soon tried.
    const isUnusable = end.error.kind === 'unavailable' || isAboutSetUp(end.error);
    without.add(channel.serverId);
    const { campaignId } = composed;
    const next =
      isUnusable && (await drivers.channelBeside(ctx, { customerId: message.customerId, campaignId, without }));
    if (!next) return end.outcome;
    channel = next;
  }
}

interface Attempt {
  readonly outcome: MessageOutcome;
  /** What the driver threw. */
  readonly error?: SendingError;
}

async function sendThrough(tools: MessageTools, handing: Handing, isMarked: boolean): Promise<Attempt | 'again'> {
  const { ctx, recorder } = tools;
  const { message, composed, channel } = handing;
  const content = await signed(composed, channel);
  const permits =
    message.priority === PRIORITIES.transactional ? channel.permits.ahead() : channel.permits.of(message.customerId);
  while (permits.tryTake(1) === 0) await permits.whenFree();
  let passage: Passage | undefined;
  try {
    const passed = await passGate(ctx, channel, { message, domain: domainOf(composed.filled.envelope.to) });
    if ('reason' in passed) return { outcome: rested(tools, message, passed) };
    passage = passed;
    const handover: MessageHandover = { ...message, email: composed.email, serverId: channel.serverId };
    const capped = isMarked ? undefined : await tools.caps.take(message, composed.email);
    if (capped) return { outcome: capped };
    // Only what is not marked yet can be put back without a word. For each server it is marked anew: its reader may have changed.
    if (!isMarked && tools.isStopping()) return 'again';
    if (!(await recorder.mark(handover))) return isMarked ? { outcome: changed(message) } : 'again';
    const permission = new PermissionToSend(() => recorder.mark(handover));
    return await attempt(ctx, { ...handing, permission, passage }, content);
  } finally {
    passage?.withdraw();
    permits.give(1);
  }
}

/** A vendor that signs by itself gets no signature of ours; the server that is tried next may need one. */
async function signed({ filled, identity }: MessageToSend, { signsDkim }: SendingChannel): Promise<FilledMessage> {
  const { sign } = identity;
  return sign === null || signsDkim ? filled : { ...filled, content: await sign(filled.content) };
}

interface Marked extends Handing {
  readonly permission: PermissionToSend;
  readonly passage: Passage;
}

async function attempt(
  ctx: Context,
  { message, composed, channel, permission, passage }: Marked,
  content: FilledMessage,
): Promise<Attempt> {
  const { driver, serverId } = channel;
  const unfit = await unfitSender({ message, composed, channel });
  if (unfit) return unfit;
  if (!(await permission.isGood())) return { outcome: changed(message) };
  try {
    const { reply, runtimeMessageId } = await driver.send({ ...content, mayStillLeave: () => permission.isGood() });
    const verdict = passage.judge(ctx, undefined);
    const outcome = judged(ctx, { message, channel, verdict, reply: storable(reply) });
    return { outcome: { ...outcome, runtimeMessageId: storable(runtimeMessageId) } };
  } catch (thrown) {
    // A driver that throws anything else broke its contract; the message may have been sent.
    const error = thrown instanceof SendingError ? thrown : new SendingError('unknown', messageOf(thrown));
    if (permission.isWithdrawn && error.kind !== 'unknown') return { outcome: changed(message) };
    const verdict = passage.judge(ctx, error);
    if (verdict.kind === 'unavailable')
      return {
        error,
        outcome: {
          ...waits(message, verdict.reason ?? 'server_unavailable', serverId),
          reply: storable(error.message),
        },
      };
    return { error, outcome: judged(ctx, { message, channel, verdict, reply: storable(error.message) }) };
  }
}

/** The vendor does not send for this sender, or cannot be asked: another server may, and the message waits for one. */
async function unfitSender({ message, composed, channel }: Handing): Promise<Attempt | undefined> {
  try {
    await channel.senders.prepare(composed.fromEmail);
    return undefined;
  } catch (thrown) {
    const error = new SendingError('unavailable', messageOf(thrown));
    return {
      error,
      outcome: { ...waits(message, 'server_unavailable', channel.serverId), reply: storable(error.message) },
    };
  }
}
