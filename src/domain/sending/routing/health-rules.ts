/**
 * What the end of a message says about the health of its server and of the recipient's provider. Rules only, without
 * any state: who rests how long is decided in the database (hot.note_health), from these numbers.
 */
import type { SendingError } from '../../../plugin-api/index.ts';
import { classifyReply } from '../replies/classify-reply.ts';
import type { ReplyMeaning } from '../replies/reply.ts';

/** How trouble of one kind is answered. */
export interface TroubleRule {
  /** The first rest; each further one in a row is twice as long. */
  readonly restMin: number;
  readonly restMax: number;
  /** A short rest from the first trouble on, before the breaker opens. */
  readonly restsEarly: boolean;
  /** So many in a row open the breaker. */
  readonly failuresMax: number;
  /** So many openings in a row, and nobody is held back any more; null: as long as it takes. */
  readonly openingsMax: number | null;
  /** Places while it is tried again: from one, one more a round, until it is well again with more than this. */
  readonly slotsMax: number;
}

export interface Verdict {
  /** About the server as a whole: it lives, it is in trouble, or nothing is said. */
  readonly server: 'well' | Trouble | undefined;
  /** About the provider or domain of the recipient. */
  readonly mailboxes: 'well' | Trouble | undefined;
  /** Nobody is at this address: counts against a warm-up. */
  readonly isHardBounce: boolean;
}

export interface Trouble {
  readonly rule: TroubleRule;
  readonly message: string;
}

/** Operators look at a server that is down; a minute after its repair mail flows again at the latest. */
const CONNECTION: TroubleRule = {
  ...{ restMin: 1, restMax: 60, restsEarly: true },
  ...{ failuresMax: 3, openingsMax: null, slotsMax: 1 },
};
/**
 * A connection that ends before messages on it are answered leaves each of them in doubt: one that is lost now and then
 * costs a second, a server that never answers is asked by one message at a time.
 */
const UNANSWERED: TroubleRule = { ...CONNECTION, restMax: 300 };
/** Our address or account is not welcome: every further try makes it worse, and somebody has to act. */
const SERVER_BLOCK: TroubleRule = {
  ...{ restMin: 300, restMax: 3_600, restsEarly: false },
  ...{ failuresMax: 5, openingsMax: null, slotsMax: 1 },
};
/** About two hours in all; whoever is still turned away for good then is told so, one by one. */
const DOMAIN_BLOCK: TroubleRule = {
  ...{ restMin: 300, restMax: 3_600, restsEarly: false },
  ...{ failuresMax: 5, openingsMax: 5, slotsMax: 5 },
};
/**
 * A provider that says "too much" without saying for how long (Gmail's 421 4.7.28 means ten minutes, and the reply's
 * meaning says so): nothing until then, after that one at a time, then one more at a time.
 */
const DOMAIN_RATE_SECONDS = 300;
const DOMAIN_RATE_SECONDS_MIN = 60;
const REST_SECONDS_MAX = 3_600;
const SLOTS_MAX = 20;
/** A server that asks to slow down is asked again soon. */
const SERVER_RATE_SECONDS_MAX = 600;

/** What the end of one message says when it was another's. */
export const NOTHING_SAID: Verdict = { server: undefined, mailboxes: undefined, isHardBounce: false };
const WELL: Verdict = { server: 'well', mailboxes: 'well', isHardBounce: false };
const LIVES: Verdict = { ...NOTHING_SAID, server: 'well' };

/** What is to be learned from how a message ended; `error` is undefined when it was taken. */
export function verdictOn(error: SendingError | undefined): Verdict {
  if (error === undefined) return WELL;
  const { message, code, enhancedStatus } = error;
  if (error.kind === 'unknown') return { ...NOTHING_SAID, server: { rule: UNANSWERED, message } };
  // Without a reply there is nothing to read: the connection itself failed.
  const meaning = code === undefined ? undefined : classifyReply({ code, enhancedStatus, text: message });
  const trouble = meaning && troubleOf(meaning, message);
  if (trouble) return { ...trouble, isHardBounce: false };
  if (error.kind === 'unavailable') return { ...NOTHING_SAID, server: { rule: CONNECTION, message } };
  // A server that relays for nobody answers, and is not well for that.
  if (meaning?.class === 'policy' && meaning.scope === 'server') return NOTHING_SAID;
  if (error.kind === 'deferred') return LIVES;
  return { ...WELL, isHardBounce: meaning?.isMailboxGone === true };
}

/** Whether a trouble makes the server rest as soon as it is met. */
export function restsAtOnce({ rule }: Trouble): boolean {
  return rule.restsEarly || rule.failuresMax <= 1;
}

function troubleOf(meaning: ReplyMeaning, message: string): Omit<Verdict, 'isHardBounce'> | undefined {
  if (meaning.class !== 'block' && meaning.class !== 'rate_limit') return undefined;
  const isBlock = meaning.class === 'block';
  if (meaning.scope === 'domain')
    return { server: undefined, mailboxes: { rule: isBlock ? DOMAIN_BLOCK : domainRate(meaning), message } };
  if (meaning.scope === 'server')
    return { server: { rule: isBlock ? SERVER_BLOCK : serverRate(meaning), message }, mailboxes: undefined };
  return undefined;
}

function domainRate({ waitSeconds = DOMAIN_RATE_SECONDS }: ReplyMeaning): TroubleRule {
  const restMin = Math.max(waitSeconds, DOMAIN_RATE_SECONDS_MIN);
  const restMax = Math.max(restMin, REST_SECONDS_MAX);
  return { restMin, restMax, restsEarly: true, failuresMax: 1, openingsMax: null, slotsMax: SLOTS_MAX };
}

function serverRate({ waitSeconds = 1 }: ReplyMeaning): TroubleRule {
  return { ...CONNECTION, restMin: Math.min(waitSeconds, SERVER_RATE_SECONDS_MAX), restMax: SERVER_RATE_SECONDS_MAX };
}
