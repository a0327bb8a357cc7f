/**
 * What the end of a message means: one verdict, with a part for its recipient, its campaign and its server. Nothing else in
 * the sending path reads a reply. Who counts (a campaign, a server) hands in what it has seen as a witness, and
 * acts on its part; nothing is kept here.
 */
import type { SendingError, SendingErrorKind } from '../../../plugin-api/index.ts';
import { CONNECTION, troubleOf, UNANSWERED, type Trouble } from '../routing/health-rules.ts';
import { reasonOfReply, type DeliveryReason } from '../delivery-reason.ts';
import { classifyReply } from './classify-reply.ts';
import type { ReplyMeaning } from './reply.ts';

export interface Verdict {
  readonly recipient: RecipientVerdict;
  /** Why its campaign is to be paused; undefined: it goes on. */
  readonly campaign: CampaignVerdict | undefined;
  readonly server: ServerVerdict;
}

export interface RecipientVerdict {
  /** As the driver said, unless somebody else is to blame: then it is tried again. */
  readonly kind: 'sent' | SendingErrorKind;
  /** For the ledger; null: there is nothing to say. */
  readonly reason: DeliveryReason | null;
  /** The same for one who is tried no more. */
  readonly reasonGivenUp?: DeliveryReason | undefined;
  /** What the server asks to wait. */
  readonly waitSeconds?: number | undefined;
}

/** The server refuses what is the same for everybody, or nearly all of the latest recipients as if nobody were there. */
export type CampaignVerdict = { readonly problem: 'refused' } | ({ readonly problem: 'bounce spike' } & BounceSpike);

export interface BounceSpike {
  readonly refused: number;
  readonly of: number;
  /** When the first of them was refused, by the clock of this process. */
  readonly since: Date;
}

export interface ServerVerdict {
  /** About the server as a whole: it lives, it is in trouble, or nothing is said. */
  readonly server: 'well' | Trouble | undefined;
  /** About the provider or domain of the recipient. */
  readonly mailboxes: 'well' | Trouble | undefined;
  /** Nobody is at this address: counts against a warm-up. */
  readonly isHardBounce: boolean;
}

/** Counts how the messages of one campaign end. */
export interface CampaignWitness {
  taken(): void;
  /** Of what is the same for everybody, such as the sender; true: too often for it to be one recipient's host. */
  refused(attempts: number): boolean;
  /** For good, by one recipient's host; answers when nobody is there for too many. */
  bounced(isMailboxGone: boolean): BounceSpike | undefined;
}

/** Has seen what a server does. */
export interface ServerWitness {
  /** Of a refusal that speaks of its set-up: whether the server is to blame, and not the recipient's host that it asked ahead. */
  isToBlame(attempts: number): boolean;
  /** A driver fails all messages of a connection with the same error; it was meant for the first of them. */
  isEcho(error: SendingError): boolean;
}

export interface Witnesses {
  /** Tries of this recipient before. */
  readonly attempts: number;
  /** Absent: the message is no campaign's. */
  readonly campaign?: CampaignWitness | undefined;
  readonly server?: ServerWitness | undefined;
}

/** Why it is not known whether the server took a message. */
export const NO_ANSWER = 'no_answer';

/** One who is refused for another's fault, among others who are not, is tried so often: it may be mended in these minutes. */
const TRIES_MAX = 5;

const WELL: ServerVerdict = { server: 'well', mailboxes: 'well', isHardBounce: false };
const NOTHING_SAID: ServerVerdict = { server: undefined, mailboxes: undefined, isHardBounce: false };
const LIVES: ServerVerdict = { ...NOTHING_SAID, server: 'well' };
const TAKEN: Verdict = { recipient: { kind: 'sent', reason: null }, campaign: undefined, server: WELL };

/** The verdict on a message; `error` is undefined when the server took it. The witnesses count it. */
export function judgeReply(error: SendingError | undefined, { attempts, campaign, server }: Witnesses): Verdict {
  if (error === undefined) {
    campaign?.taken();
    return TAKEN;
  }
  const meaning = classifyReply({ code: error.code, enhancedStatus: error.enhancedStatus, text: error.message });
  const isCampaigns = campaign !== undefined && isOfCampaign(error, meaning);
  const isTooOften = isCampaigns && campaign.refused(attempts);
  const mayBeAnothers = attempts + 1 < TRIES_MAX;
  let { kind } = error;
  if (isCampaigns) kind = mayBeAnothers && !isTooOften ? 'deferred' : kind;
  else if (server && isOfSetUp(error, meaning)) {
    if (server.isToBlame(attempts)) kind = 'unavailable';
    else if (kind === 'refused' && mayBeAnothers) kind = 'deferred';
  }
  const isEcho = kind === error.kind && server?.isEcho(error) === true;
  const spike = kind === 'refused' && !isTooOften ? campaign?.bounced(meaning.isMailboxGone) : undefined;
  return {
    recipient: { kind, ...recipientReason(kind, error) },
    campaign: isTooOften ? { problem: 'refused' } : spike && { problem: 'bounce spike', ...spike },
    server: isEcho ? NOTHING_SAID : serverVerdict(kind, error, meaning),
  };
}

/** Whether a refusal is about the server, or what it thinks of us, as far as its words go. */
export function speaksOfSetUp(error: SendingError): boolean {
  const { code, enhancedStatus, message } = error;
  return isOfSetUp(error, classifyReply({ code, enhancedStatus, text: message }));
}

function isOfSetUp({ kind, code }: SendingError, { class: replyClass, scope }: ReplyMeaning): boolean {
  if (code === undefined || (kind !== 'refused' && kind !== 'deferred')) return false;
  return (replyClass === 'policy' || replyClass === 'block') && scope === 'server';
}

/** What is said of content is left out: one provider's filter speaks for itself. */
function isOfCampaign({ kind }: SendingError, { class: replyClass, scope }: ReplyMeaning): boolean {
  if (kind !== 'refused') return false;
  return replyClass === 'policy' ? scope === 'sender' : replyClass === 'permanent' && scope === 'message';
}

/** The class of the reply and what is the matter, as the ledger's reader sees it. */
function recipientReason(kind: SendingErrorKind, error: SendingError): Omit<RecipientVerdict, 'kind'> {
  const { code, enhancedStatus, message } = error;
  if (kind === 'unknown') return { reason: NO_ANSWER };
  if (kind === 'unavailable' && code === undefined) return { reason: 'server_unavailable' };
  const meaning = classifyReply({ code: replyCodeOf(kind, code), enhancedStatus, text: message });
  const { waitSeconds } = meaning;
  return { reason: reasonOfReply(meaning), reasonGivenUp: reasonOfReply(meaning, { gaveUp: true }), waitSeconds };
}

/** A driver may give an HTTP status, or none; what it made of it counts. */
function replyCodeOf(kind: SendingErrorKind, code = 0): number {
  if (kind === 'refused') return code >= 500 && code < 600 ? code : 550;
  return kind === 'deferred' && (code < 400 || code >= 500) ? 450 : code;
}

function serverVerdict(kind: SendingErrorKind, { code, message }: SendingError, meaning: ReplyMeaning): ServerVerdict {
  if (kind === 'unknown') return { ...NOTHING_SAID, server: { rule: UNANSWERED, message } };
  // Without a code there is nothing to read: the connection itself failed.
  const said = code === undefined ? undefined : meaning;
  const trouble = said && troubleOf(said, message);
  if (trouble) return { ...trouble, isHardBounce: false };
  if (kind === 'unavailable') return { ...NOTHING_SAID, server: { rule: CONNECTION, message } };
  // A server that relays for nobody answers, and is not well for that.
  if (said?.class === 'policy' && said.scope === 'server') return NOTHING_SAID;
  if (kind === 'deferred') return LIVES;
  return { ...WELL, isHardBounce: said?.isMailboxGone === true };
}
