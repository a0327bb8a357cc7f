/**
 * The result of a message: one verdict, with a part for its recipient, its campaign and its server. The driver has decided the
 * kind of error by code and status (SMTP: plugins/mailwright/smtp/reply-meaning.ts); meaning-of-error.ts says what it means;
 * health-rules.ts says how long a server or provider is paused. Here these are put together. The counters of campaign and server
 * pass in what they have seen, and act on their part; nothing is stored here.
 */
import type { SendingError, SendingErrorKind } from '../../../plugin-api/index.ts';
import { CONNECTION, restsAtOnce, troubleOf, UNANSWERED, type Trouble } from '../routing/health-rules.ts';
import { reasonOfReply, type DeliveryReason } from '../delivery-reason.ts';
import { meaningOfError } from './meaning-of-error.ts';
import type { ReplyMeaning } from './reply.ts';

export interface Verdict {
  readonly recipient: RecipientVerdict;
  /** Why its campaign is paused; undefined: it continues. */
  readonly campaign: CampaignVerdict | undefined;
  readonly server: ServerVerdict;
}

export interface RecipientVerdict {
  /**
   * As the driver said. But a refusal that the campaign's sender or message or the server's set-up may have caused, and not the
   * recipient, is tried again: `deferred`; `unavailable` where the server is known to be the cause.
   */
  readonly kind: 'sent' | SendingErrorKind;
  /** For the ledger; null: none. */
  readonly reason: DeliveryReason | null;
  /** The same when there are no more tries. */
  readonly reasonGivenUp?: DeliveryReason | undefined;
  /** The wait that the server asks for. */
  readonly waitSeconds?: number | undefined;
}

/** The server refuses what all copies share, or nearly all of the latest recipients as unknown. */
export type CampaignVerdict = { readonly problem: 'refused' } | ({ readonly problem: 'bounce spike' } & BounceSpike);

export interface BounceSpike {
  readonly refused: number;
  readonly of: number;
  /** When the first of them was refused, by the clock of this process. */
  readonly since: Date;
}

export interface ServerVerdict {
  /** About the server as a whole: it works, it is in trouble, or nothing is known. */
  readonly server: 'well' | Trouble | undefined;
  /** About the provider or domain of the recipient. */
  readonly mailboxes: 'well' | Trouble | undefined;
  /** The address does not exist: counts against a warm-up. */
  readonly isHardBounce: boolean;
}

/** Counts the outcomes of one campaign. */
export interface CampaignWitness {
  taken(): void;
  /** Counts a refusal of what all copies share, such as the sender; true: too many for a single recipient's host. */
  refused(attempts: number): boolean;
  /** Counts a final refusal by a recipient's host; returns a spike when too many are refused as unknown. */
  bounced(isMailboxGone: boolean): BounceSpike | undefined;
}

/** Knows what happened at a server. */
export interface ServerWitness {
  /** For a refusal about its set-up: whether the server is at fault, and not the recipient's host behind it. */
  isToBlame(attempts: number): boolean;
  /** A driver fails all messages of a connection with the same error; it belongs to the first of them. */
  isEcho(error: SendingError): boolean;
}

export interface Witnesses {
  /** Earlier tries of this recipient. */
  readonly attempts: number;
  /** Absent: the message belongs to no campaign. */
  readonly campaign?: CampaignWitness | undefined;
  readonly server?: ServerWitness | undefined;
}

/** Why it is not known whether the server accepted a message. */
export const NO_ANSWER = 'no_answer';

/**
 * Tries of a recipient whose refusal the campaign or the server may have caused, while other recipients are accepted: somebody may
 * correct the cause in these minutes.
 */
const TRIES_MAX = 5;

const WELL: ServerVerdict = { server: 'well', mailboxes: 'well', isHardBounce: false };
const NOTHING_SAID: ServerVerdict = { server: undefined, mailboxes: undefined, isHardBounce: false };
const LIVES: ServerVerdict = { ...NOTHING_SAID, server: 'well' };
const TAKEN: Verdict = { recipient: { kind: 'sent', reason: null }, campaign: undefined, server: WELL };

/** The verdict on a message; `error` is undefined when the server accepted it. The witnesses count it. */
export function judgeReply(error: SendingError | undefined, { attempts, campaign, server }: Witnesses): Verdict {
  if (error === undefined) {
    campaign?.taken();
    return TAKEN;
  }
  const meaning = meaningOfError(error);
  const isCampaigns = campaign !== undefined && isOfCampaign(error, meaning);
  const isTooOften = isCampaigns && campaign.refused(attempts);
  const hasMoreTries = attempts + 1 < TRIES_MAX;
  let { kind } = error;
  if (isCampaigns) kind = hasMoreTries && !isTooOften ? 'deferred' : kind;
  else if (server && isOfSetUp(error, meaning)) {
    if (server.isToBlame(attempts)) kind = 'unavailable';
    else if (kind === 'refused' && hasMoreTries) kind = 'deferred';
  }
  const isEcho = kind === error.kind && server?.isEcho(error) === true;
  const spike = kind === 'refused' && !isTooOften ? campaign?.bounced(meaning.isMailboxGone) : undefined;
  return {
    recipient: { kind, ...recipientReason(kind, error) },
    campaign: isTooOften ? { problem: 'refused' } : spike && { problem: 'bounce spike', ...spike },
    server: isEcho ? NOTHING_SAID : serverVerdict(kind, error, meaning),
  };
}

/** Whether the words of a refusal are about the server's set-up or its opinion of us. */
export function isAboutSetUp(error: SendingError): boolean {
  return isOfSetUp(error, meaningOfError(error));
}

/**
 * Whether the server shows with it that it is asked too much at once. One that ends each connection after so many messages does
 * not.
 */
export function isPushBack(error: SendingError, { server }: ServerVerdict): boolean {
  if (server === undefined || server === 'well' || !restsAtOnce(server)) return false;
  return meaningOfError(error).what !== 'too_many_messages_in_one_session';
}

function isOfSetUp({ kind, code }: SendingError, { class: replyClass, scope }: ReplyMeaning): boolean {
  if (code === undefined || (kind !== 'refused' && kind !== 'deferred')) return false;
  return (replyClass === 'policy' || replyClass === 'block') && scope === 'server';
}

/** Refusals of content are not included: one provider's filter speaks only for itself. */
function isOfCampaign({ kind }: SendingError, { class: replyClass, scope }: ReplyMeaning): boolean {
  if (kind !== 'refused') return false;
  return replyClass === 'policy' ? scope === 'sender' : replyClass === 'permanent' && scope === 'message';
}

/** The class and matter of the reply, for readers of the ledger. */
function recipientReason(kind: SendingErrorKind, error: SendingError): Omit<RecipientVerdict, 'kind'> {
  const { code } = error;
  if (kind === 'unknown') return { reason: NO_ANSWER };
  if (kind === 'unavailable' && code === undefined) return { reason: 'server_unavailable' };
  const meaning = meaningOfError(error, replyCodeOf(kind, code));
  const { waitSeconds } = meaning;
  return { reason: reasonOfReply(meaning), reasonGivenUp: reasonOfReply(meaning, { gaveUp: true }), waitSeconds };
}

/** A driver may give an HTTP status, or none; then its kind of error counts. */
function replyCodeOf(kind: SendingErrorKind, code = 0): number {
  if (kind === 'refused') return code >= 500 && code < 600 ? code : 550;
  return kind === 'deferred' && (code < 400 || code >= 500) ? 450 : code;
}

function serverVerdict(kind: SendingErrorKind, { code, message }: SendingError, meaning: ReplyMeaning): ServerVerdict {
  if (kind === 'unknown') return { ...NOTHING_SAID, server: { rule: UNANSWERED, message } };
  // Without a code there is no reply: the connection itself failed.
  const said = code === undefined ? undefined : meaning;
  const trouble = said && troubleOf(said, message);
  if (trouble) return { ...trouble, isHardBounce: false };
  if (kind === 'unavailable') return { ...NOTHING_SAID, server: { rule: CONNECTION, message } };
  // A server that does not relay answers, but is not healthy.
  if (said?.class === 'policy' && said.scope === 'server') return NOTHING_SAID;
  if (kind === 'deferred') return LIVES;
  return { ...WELL, isHardBounce: said?.isMailboxGone === true };
}
