/**
 * How trouble of a server or of a recipient's provider is handled. Rules only, without state: the database decides who pauses how
 * long (hot.record_health), from these numbers.
 */
import type { ReplyMeaning } from '../replies/reply.ts';

/** How trouble of one kind is handled. */
export interface TroubleRule {
  /** The first pause; each further one in a row is twice as long. */
  readonly restMin: number;
  readonly restMax: number;
  /** A short pause from the first trouble on, before the breaker opens. */
  readonly restsEarly: boolean;
  /** So many in a row open the breaker. */
  readonly failuresMax: number;
  /** After so many openings in a row mail is no longer held back; null: unlimited. */
  readonly openingsMax: number | null;
  /** Messages at once while it is tried again: from one, one more per round, until it is healthy with more than this. */
  readonly slotsMax: number;
}

export interface Trouble {
  readonly rule: TroubleRule;
  readonly message: string;
}

/** Operators repair a server that is down; mail flows again within a minute. */
export const CONNECTION: TroubleRule = {
  ...{ restMin: 1, restMax: 60, restsEarly: true },
  ...{ failuresMax: 3, openingsMax: null, slotsMax: 1 },
};
/**
 * A connection that ends before its messages are answered leaves each of them with an unknown outcome: one that is lost now and
 * then costs a second, a server that never answers gets one message at a time.
 */
export const UNANSWERED: TroubleRule = { ...CONNECTION, restMax: 300 };
/** Our address or account is refused: further tries make it worse, and a person has to act. */
const SERVER_BLOCK: TroubleRule = {
  ...{ restMin: 300, restMax: 3_600, restsEarly: false },
  ...{ failuresMax: 5, openingsMax: null, slotsMax: 1 },
};
/** About two hours in all; recipients who are still refused then get their own outcome. */
const DOMAIN_BLOCK: TroubleRule = {
  ...{ restMin: 300, restMax: 3_600, restsEarly: false },
  ...{ failuresMax: 5, openingsMax: 5, slotsMax: 5 },
};
/**
 * A provider that says "too much" without a time (Gmail's 421 4.7.28 means ten minutes, and the reply's meaning says so): nothing
 * until then, after that one at a time, then one more at a time.
 */
const DOMAIN_RATE_SECONDS = 300;
const DOMAIN_RATE_SECONDS_MIN = 60;
const REST_SECONDS_MAX = 3_600;
const SLOTS_MAX = 20;
/** A server that asks to slow down is tried again soon. */
const SERVER_RATE_SECONDS_MAX = 600;

/** Whether a trouble makes the server pause at once. */
export function restsAtOnce({ rule }: Trouble): boolean {
  return rule.restsEarly || rule.failuresMax <= 1;
}

/** The trouble behind a reply: of the whole server, or of the recipient's provider. */
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
