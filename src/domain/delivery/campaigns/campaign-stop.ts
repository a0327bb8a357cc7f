/** Why a campaign is paused while it is being sent. Its author has to act before more recipients get it. */
import type { ValidationError } from '../../../lib/errors.ts';
import type { CodedReason } from '../../../lib/coded-reason.ts';
import { faultSentence, isRunaway } from '../../content/template-fault.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import type { CampaignVerdict } from '../../sending/replies/judge-reply.ts';
import { REFUSED_WITH_MANY } from '../../tracking/refused-again-store.ts';
import { REPLY_LENGTH_MAX } from '../ledger/delivery.ts';

/** By code, the parameters of its text (campaigns/status-reason.ts). `fault` and `reply` come from others, and are limited. */
export interface StopParams {
  /** The message cannot be composed for anybody, or its template took too long. */
  message_fault: { readonly fault: string };
  /** It cannot be composed for this subscriber, by uid, or cannot be signed. */
  recipient_fault: { readonly subscriber: string; readonly fault: string };
  /** The server refuses what all copies share: the sender, or the size. */
  refused_by_server: { readonly reply: string };
  /** So many of the latest recipients were refused as unknown. */
  bounce_spike: { readonly refused: number; readonly of: number; readonly reply: string };
}

export type StopReason = CodedReason<StopParams>;

export interface CampaignStop {
  readonly pauseFor: StopReason;
  /** Since when its recipients have been refused as unknown, by the clock of this process. */
  readonly refusedSince?: Date | undefined;
}

/** Enough of a fault to find it. */
const FAULT_LENGTH_MAX = 1_000;

export function messageFault(error: ValidationError): StopReason {
  const fault = isRunaway(error) ? error.message : faultSentence(error);
  return { code: 'message_fault', params: { fault: fault.slice(0, FAULT_LENGTH_MAX) } };
}

export function recipientFault(subscriber: string, fault: string): StopReason {
  return { code: 'recipient_fault', params: { subscriber, fault: fault.slice(0, FAULT_LENGTH_MAX) } };
}

/** Enough of the last reply of a spike to understand it. */
const SPIKE_REPLY_LENGTH_MAX = 300;

/** Why the recipient of that reply waits, in the ledger, and why the campaign is paused. */
export function stopFor(verdict: CampaignVerdict, reply: string): [reason: DeliveryReason, stop: CampaignStop] {
  if (verdict.problem === 'refused') {
    const params = { reply: reply.slice(0, REPLY_LENGTH_MAX) };
    return ['campaign_refused', { pauseFor: { code: 'refused_by_server', params } }];
  }
  const { refused, of, since } = verdict;
  const params = { refused, of, reply: reply.slice(0, SPIKE_REPLY_LENGTH_MAX) };
  return [REFUSED_WITH_MANY, { pauseFor: { code: 'bounce_spike', params }, refusedSince: since }];
}
