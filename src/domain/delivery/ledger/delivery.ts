/**
 * The noun of this module: a delivery, one message's row in the ledger, and its states. The ledger decides who got what; queue
 * jobs only say where to look. This module never decides who is in the audience.
 */
import { unreachable } from '../../../lib/errors.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import type { DeliveryKey, SourceKey } from '../../source-key.ts';
import { sourceOfCampaign } from '../../statistics/source-read-model.ts';
import type { PluginValues } from '../../content/message.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import type { RecipientVerdict } from '../../sending/replies/judge-reply.ts';

/**
 * queued -> sending (about to be handed over) -> sent | failed | unknown, and back to queued for a deferral; through leased (a
 * worker has it) where a plan's budget is counted. skipped and suppressed are never sent.
 */
export const deliveryStates = [
  'queued',
  'leased',
  'sending',
  'sent',
  'failed',
  'skipped',
  'suppressed',
  'unknown',
] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** What to do with a message with an unknown outcome. */
export type UnknownPolicy = 'park' | 'retry';

/** Names one source's part of the ledger; `snapshotOn` (YYYY-MM-DD) picks the partition. */
export interface LedgerKey extends SourceKey {
  readonly snapshotOn: string;
}

/** A campaign's part of the ledger. */
export function ledgerOfCampaign(campaign: CampaignKey & { readonly snapshotOn: string }): LedgerKey {
  return { ...sourceOfCampaign(campaign), snapshotOn: campaign.snapshotOn };
}

/** A range of recipients' ids within it, both ends included. */
export interface LedgerRange extends LedgerKey {
  readonly fromId: bigint;
  readonly toId: bigint;
}

/** Names a row within a source's part. */
export type RecipientKey = Pick<DeliveryKey, 'recipientId' | 'occurrence'>;

/** In the order of the ledger's key. */
export function byRecipient(a: RecipientKey, b: RecipientKey): number {
  if (a.recipientId !== b.recipientId) return a.recipientId < b.recipientId ? -1 : 1;
  return a.occurrence < b.occurrence ? -1 : 1;
}

/** A row that this worker holds, or may take by marking it. Every later write must contain the epoch. */
export interface Lease extends RecipientKey {
  /** The list by which the recipient gets it; null: none. */
  readonly listId: bigint | null;
  readonly epoch: number;
  readonly attempts: number;
}

/** A leased row with the values for its message. */
export interface LeasedDelivery extends Lease {
  readonly listId: bigint;
  readonly email: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly pluginValues?: PluginValues;
}

/** A due row, with its person. */
export interface DueDelivery extends Lease {
  readonly email: string | null;
  readonly fields: Readonly<Record<string, unknown>> | null;
  /** Why no mail is sent: `deleted`, `suppressed`, or the status if it is not `subscribed`; null: mail is sent. */
  readonly denialReason: NoMailReason | null;
}

/** Why a recipient in the ledger gets no mail. */
export type NoMailReason =
  | ('deleted' | 'suppressed' | 'pending' | 'unconfirmed' | 'unsubscribed')
  /** Of mails of flows. */
  | ('flow_stopped' | 'source_deleted' | 'overdue');

/** The result of one attempt, as the ledger stores it. */
export interface DeliveryOutcome extends RecipientKey {
  readonly epoch: number;
  readonly state: Extract<DeliveryState, 'queued' | 'sent' | 'failed' | 'skipped' | 'suppressed' | 'unknown'>;
  /** Whether the attempt counts as a try of the recipient: trouble with the server does not count. */
  readonly isTry: boolean;
  readonly reply: string | null;
  readonly reason: DeliveryReason | null;
  readonly runtimeMessageId: string | null;
  /** For `queued`: how long to wait before the next try. */
  readonly delaySeconds: number;
}

/** The reason of a message that failed without being sent: it cannot be composed. */
export const NOT_COMPOSED = 'not_composed';
/** The same for a subject or a sender's name that only this recipient's values make too long: no other recipient waits for it. */
export const HEADER_TOO_LONG = 'header_too_long';

/** The outcome for a recipient for whom nothing was handed over: closed, or back in the queue. */
export function untried(
  { recipientId, occurrence, epoch }: RecipientKey & Pick<Lease, 'epoch'>,
  end: Pick<DeliveryOutcome, 'state' | 'reason'> & { delaySeconds?: number },
): DeliveryOutcome {
  return { recipientId, occurrence, epoch, isTry: false, reply: null, runtimeMessageId: null, delaySeconds: 0, ...end };
}

/** How often a lease is renewed within its time: two renewals may fail before it ends. */
export const RENEWALS_PER_LEASE = 3;
/** Half a working day: after that a retry is a matter of hours anyway. */
const RETRY_DELAY_SECONDS_MAX = 21_600;
/** A server that asks for a longer wait than ours gets it up to this: no greylisting needs more. */
const SERVER_DELAY_SECONDS_MAX = 3_600;
const JITTER = 0.1;
/** After three days a newsletter is old; mail programs give up after two to five (RFC 5321 4.5.4.1). */
const RETRY_SECONDS_MAX = 259_200;
/** Without any server, a person has to act first. */
export const NO_SERVER_DELAY_SECONDS = 15;
/** Enough of a reply to understand it; some are very long. */
export const REPLY_LENGTH_MAX = 1_000;

/** A message may wait before its request: so much of the key's lifetime, or half of it, is kept in reserve. */
const SPARE_SECONDS = 60;

/** The time within which a message with an unknown outcome may be sent again. */
export function retrySecondsOf(keySeconds: number): number {
  return keySeconds - Math.min(SPARE_SECONDS, keySeconds / 2);
}

export interface RetryRule {
  readonly attemptsMax: number;
  readonly delaySeconds: number;
  /** How long the server's vendor recognises a repeated message by its key; undefined: it does not. */
  readonly keySeconds?: number | undefined;
}

interface EndedAttempt {
  readonly delivery: RecipientKey & Pick<Lease, 'epoch' | 'attempts'>;
  readonly verdict: RecipientVerdict;
  /** The server's reply. */
  readonly reply: string;
  readonly policy: UnknownPolicy;
  readonly rule: RetryRule;
}

/** What the verdict on an attempt means for the ledger. */
export function outcomeOf({ delivery, verdict, reply, policy, rule }: EndedAttempt): DeliveryOutcome {
  const base = {
    recipientId: delivery.recipientId,
    occurrence: delivery.occurrence,
    epoch: delivery.epoch,
    isTry: true,
    reply: reply.slice(0, REPLY_LENGTH_MAX),
    runtimeMessageId: null,
    delaySeconds: 0,
  };
  const tries = delivery.attempts + 1;
  const { kind, reason, waitSeconds } = verdict;
  switch (kind) {
    case 'sent':
      return { ...base, state: 'sent', reason };
    case 'refused':
      return { ...base, state: 'failed', reason };
    case 'deferred':
      if (!mayTryAgain(tries, rule)) return { ...base, state: 'failed', reason: verdict.reasonGivenUp ?? reason };
      return { ...base, state: 'queued', reason, delaySeconds: retryDelaySeconds(tries, rule, waitSeconds) };
    case 'unavailable':
      return { ...base, state: 'queued', isTry: false, reason };
    case 'unknown':
      if (policy === 'park' || !mayTryAgain(tries, rule)) return { ...base, state: 'unknown', reason };
      return doubted(base, { reason, delaySeconds: retryDelaySeconds(tries, rule), rule });
    default:
      return unreachable(kind);
  }
}

/** Sent again, unless its vendor would take it for another message by then. */
function doubted(
  base: Omit<DeliveryOutcome, 'state' | 'reason'>,
  { reason, delaySeconds, rule }: { reason: DeliveryReason | null; delaySeconds: number; rule: RetryRule },
): DeliveryOutcome {
  const isInTime = rule.keySeconds === undefined || delaySeconds < retrySecondsOf(rule.keySeconds);
  return isInTime ? { ...base, state: 'queued', reason, delaySeconds } : { ...base, state: 'unknown', reason };
}

/** Whether tries are left, and the next one comes within the time for retries. */
function mayTryAgain(tries: number, rule: RetryRule): boolean {
  if (tries >= rule.attemptsMax) return false;
  let longestWait = 0;
  for (let done = 1; done <= tries; done++)
    longestWait += Math.max(backOffSeconds(done, rule), SERVER_DELAY_SECONDS_MAX) * (1 + JITTER);
  return longestWait <= RETRY_SECONDS_MAX;
}

/**
 * The wait after try number `tries`: doubling, limited, at least what the server asked for, with up to 10 % jitter so that
 * retries do not come at the same time.
 */
export function retryDelaySeconds(tries: number, rule: RetryRule, askedSeconds = 0): number {
  const delay = Math.max(backOffSeconds(tries, rule), Math.min(askedSeconds, SERVER_DELAY_SECONDS_MAX));
  return delay * (1 + Math.random() * JITTER);
}

function backOffSeconds(tries: number, { delaySeconds }: RetryRule): number {
  return Math.min(delaySeconds * 2 ** (tries - 1), RETRY_DELAY_SECONDS_MAX);
}
