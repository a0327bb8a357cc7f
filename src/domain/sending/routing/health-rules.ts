/**
 * How trouble of a server and of a recipient's provider is answered. Rules only, without any state: who rests how long is
 * decided in the database (hot.record_health), from these numbers.
 */
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

export interface Trouble {
  readonly rule: TroubleRule;
  readonly message: string;
}

/** Operators look at a server that is down; a minute after its repair mail flows again at the latest. */
export const CONNECTION: TroubleRule = {
  ...{ restMin: 1, restMax: 60, restsEarly: true },
  ...{ failuresMax: 3, openingsMax: null, slotsMax: 1 },
};
/**
 * A connection that ends before messages on it are answered leaves each of them in doubt: one that is lost now and then
 * costs a second, a server that never answers is asked by one message at a time.
 */
export const UNANSWERED: TroubleRule = { ...CONNECTION, restMax: 300 };
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

/** Whether a trouble makes the server rest as soon as it is met. */
export function restsAtOnce({ rule }: Trouble): boolean {
  return rule.restsEarly || rule.failuresMax <= 1;
}

/** The trouble that a reply tells of: of the whole server, or of the recipient's provider. */
export function troubleOf(
  meaning: ReplyMeaning,
  message: string,
): { server: Trouble | undefined; mailboxes: Trouble | undefined } | undefined {
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
