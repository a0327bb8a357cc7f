/** What became of an attempt to send a message that is not of a campaign, as the ledger stores it. */
import type { Context } from '../../context.ts';
import type { MessageKind } from '../../messages/message.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import type { SendingChannel } from '../../sending/driver-pool.ts';
import { outcomeOf, REPLY_LENGTH_MAX, untried, type DeliveryOutcome, type UnknownPolicy } from '../ledger/delivery.ts';
import type { MessageOutcome, TakenMessage } from './message-queue-store.ts';
import { HELD_SECONDS_MAX, tryRuleOf, waitSeconds } from './message-tries.ts';

/** It ends without having been handed over. */
export function closed(
  message: TakenMessage,
  state: 'skipped' | 'suppressed' | 'failed',
  reason: DeliveryReason,
): MessageOutcome {
  return ofMessage(message, untried(rowOf(message), { state, reason }), null);
}

/** It waits without a try, until it has waited for too long. */
export function waits(message: TakenMessage, reason: DeliveryReason, serverId: bigint | null = null): MessageOutcome {
  const delaySeconds = waitSeconds(message);
  const end = untried(rowOf(message), { state: delaySeconds === undefined ? 'failed' : 'queued', reason });
  return ofMessage(message, { ...end, delaySeconds: delaySeconds ?? 0 }, serverId);
}

/** What holds them back may end sooner than it seems: the plan is changed, the server gets another pace. */
const LOOK_AGAIN_SECONDS_MAX = 3_600;

/** These end by themselves: a cap holds nothing for longer than it says (`holdDays`), quiet hours for less than a day. */
const ENDING_BY_THEMSELVES: readonly DeliveryReason[] = ['frequency_cap', 'quiet_hours'];

/** Something holds a mail of a flow back, without a try. */
export function heldBack(
  message: TakenMessage,
  { reason, delaySeconds }: { readonly reason: DeliveryReason; readonly delaySeconds: number },
): MessageOutcome {
  const hasEnd = ENDING_BY_THEMSELVES.includes(reason);
  if (!hasEnd && message.ageSeconds >= HELD_SECONDS_MAX) return closed(message, 'skipped', reason);
  const end = untried(rowOf(message), { state: 'queued', reason });
  return ofMessage(message, { ...end, delaySeconds: Math.min(delaySeconds, LOOK_AGAIN_SECONDS_MAX) }, null);
}

/** A flow that is stopped may go on soon; one that is still stopped then, rather later. */
const STOPPED_SECONDS = 300;
const STILL_STOPPED_SECONDS = 3_600;

/** Its flow is stopped: it is held until the flow goes on, and that time does not make it older (hot.settle_messages). */
export function stopped(message: TakenMessage): MessageOutcome {
  const delaySeconds = message.reason === 'flow_stopped' ? STILL_STOPPED_SECONDS : STOPPED_SECONDS;
  return ofMessage(
    message,
    { ...untried(rowOf(message), { state: 'queued', reason: 'flow_stopped' }), delaySeconds },
    null,
  );
}

/** Its row in the ledger, as outcomes name it. */
export function rowOf({ recipientId, id, epoch, attempts }: TakenMessage) {
  return { recipientId, occurrence: id, epoch, attempts };
}

/** The outcome of its row. */
export function ofMessage(
  { customerId }: TakenMessage,
  outcome: DeliveryOutcome,
  serverId: bigint | null,
): MessageOutcome {
  return { ...outcome, customerId, serverId };
}

interface Judged {
  readonly message: TakenMessage;
  readonly channel: SendingChannel;
  readonly verdict: Parameters<typeof outcomeOf>[0]['verdict'];
  readonly reply: string;
}

/** What the verdict on an attempt means for it. */
export function judged(ctx: Context, { message, channel, verdict, reply }: Judged): MessageOutcome {
  const rule = { ...tryRuleOf(ctx, message), keySeconds: channel.keySeconds };
  const policy = policyOf(message);
  const outcome = outcomeOf({ delivery: rowOf(message), verdict, reply, policy, rule });
  return ofMessage(message, outcome, channel.serverId);
}

const SENT_AGAIN: readonly MessageKind[] = ['security', 'transactional'];

/** A lost one is worse than a second copy, but only once. hot.take_messages does the same for a worker that died. */
function policyOf({ kind, ambiguousCount }: TakenMessage): UnknownPolicy {
  return SENT_AGAIN.includes(kind) && ambiguousCount === 0 ? 'retry' : 'park';
}

/** A driver passes on what its vendor wrote; no database stores a NUL. */
export function storable(text: string): string {
  return text.replaceAll('\0', ' ').slice(0, REPLY_LENGTH_MAX);
}

/** Back into the queue: it is taken again with its reader as they are now. */
export function changed(message: TakenMessage): MessageOutcome {
  return ofMessage(message, untried(rowOf(message), { state: 'queued', reason: 'recipient_changed' }), null);
}
