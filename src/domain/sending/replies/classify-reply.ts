/**
 * What a server's refusal means: one interpretation of replies for everything that depends on them (the ledger's reason,
 * bounces, breakers, paces). It decides nothing itself. The driver decides by the reply's code (4xx, 5xx) whether there is another
 * try, and judge-reply.ts changes that only where the meaning says that the campaign or the server may be the cause. A 5xx
 * whose text says "later" stays final: the code counts.
 *
 * The knowledge is data (reply-rules.ts, provider-replies.ts, status-meanings.ts); this file only applies it. What
 * others write is hostile until shown otherwise: the text is cut first, and every gap in a rule has a bound.
 */
import { SENDER_REFUSED } from '../../../plugin-api/index.ts';
import { codeMeaning } from './code-meanings.ts';
import { providerReplies } from './provider-replies.ts';
import { replyRules } from './reply-rules.ts';
import type { ReplyMeaning, ReplyRule, ServerReply } from './reply.ts';
import { statusMeanings } from './status-meanings.ts';

/** Longer texts contain nothing more, and the search must be limited. */
const TEXT_LENGTH_MAX = 1_000;
/** A wait that a server asks for is limited to these: a number in a text must not hold a row for a week. */
const WAIT_SECONDS_MIN = 1;
const WAIT_SECONDS_MAX = 21_600;

const CODE = /^\s*([2-5]\d\d)(?=[ -]|$)/;
/** The prefix of every further line of a reply. */
const LINE_PREFIX = /[\r\n][2-5]\d\d[ -]/g;
const STATUS = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/;
const LOCAL_PART = /[^\s<>@,;:()]{1,64}@/g;
const IPV4 = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
const GMAIL_TICKET = /\s\S{6,64} - gsmtp/g;
const BLANKS = /\s+/g;
const ALL_STATUS = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g;
/** "try again in 5 minutes", "retry after 300 seconds", "greylisted for 60 s", "please wait 2 hours". */
const WAIT =
  /\b(?:in|after|for|wait|within|next|seconds=|retry)\s{0,3}(?:at least |about |another |approximately )?(\d{1,6})\s{0,3}(s|secs?|seconds?|sekunden?|m|mins?|minutes?|minuten?|h|hrs?|hours?|stunden?)\b/;

/** The meaning of a reply; there is always one. Leave out what is not known: it is searched in the text. */
export function classifyReply(reply: ServerReply): ReplyMeaning {
  const text = reply.text.slice(0, TEXT_LENGTH_MAX);
  const status = reply.enhancedStatus ?? STATUS.exec(text)?.[1];
  const code = reply.code ?? (Number(CODE.exec(text)?.[1] ?? 0) || codeOfStatus(status));
  return rememberedMeaning({ code, status: status?.slice(1) ?? '', words: wordsOf(text) });
}

const SENDER_WORDS = SENDER_REFUSED.toLowerCase();
/** "No such user" before a recipient was named. */
const SENDER_RULE: ReplyRule = { what: 'sender_address_refused', class: 'policy', scope: 'sender' };

/** A server sends the same text to thousands: its meaning is looked up once. */
const remembered = new Map<string, ReplyMeaning>();
const REMEMBERED_MAX = 500;

function rememberedMeaning(subject: Subject): ReplyMeaning {
  const key = `${subject.code} ${subject.status} ${subject.words}`;
  const known = remembered.get(key);
  if (known) return known;
  const found = ruleFor(subject) ?? codeMeaning(subject.code);
  const isOfNobody =
    subject.words.startsWith(SENDER_WORDS) && (found.scope === 'recipient' || found.scope === 'domain');
  const rule = isOfNobody ? SENDER_RULE : found;
  const meaning = meaningOf(rule, { isFinal: subject.code >= 500, asked: askedWait(subject.words) });
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(key, meaning);
  return meaning;
}

interface Subject {
  readonly code: number;
  /** Without its first digit, which the code has: `.1.1`. */
  readonly status: string;
  readonly words: string;
}

/**
 * Provider-specific texts first, then common texts, because servers use one status for many things; then the registered status.
 * The code alone comes last (`codeMeaning`).
 */
function ruleFor(subject: Subject): ReplyRule | undefined {
  return (
    providerReplies.find((rule) => applies(rule, subject)) ??
    replyRules.find((rule) => applies(rule, subject)) ??
    statusMeanings.get(subject.status)
  );
}

function applies({ codes, status, words }: ReplyRule, subject: Subject): boolean {
  if (codes !== undefined && !codes.some((prefix) => String(subject.code).startsWith(prefix))) return false;
  if (status !== undefined && !status.includes(subject.status)) return false;
  return words === undefined || words.test(subject.words);
}

function meaningOf(rule: ReplyRule, reply: { isFinal: boolean; asked: number | undefined }): ReplyMeaning {
  const isGone = reply.isFinal && rule.isMailboxGone === true;
  const waitSeconds = reply.isFinal ? rule.waitSeconds : (reply.asked ?? rule.waitSeconds);
  return {
    class: rule.class === 'permanent' && !reply.isFinal ? 'transient' : rule.class,
    scope: rule.scope,
    what: rule.what,
    isMailboxGone: isGone,
    ...(waitSeconds === undefined ? {} : { waitSeconds }),
  };
}

/**
 * Lower case, one blank between words, without repeated codes and statuses, and without what differs between messages (the part
 * of addresses before the @, IP addresses, Gmail's tickets): `full@` or `virus@` is no full mailbox and no virus.
 */
function wordsOf(text: string): string {
  let words = text.includes('\n') ? text.replace(LINE_PREFIX, ' ') : text;
  if (words.includes('@')) words = words.replace(LOCAL_PART, '@');
  if (words.includes('gsmtp')) words = words.replace(GMAIL_TICKET, ' gsmtp');
  return words.replace(ALL_STATUS, ' ').replace(IPV4, 'ip').replace(BLANKS, ' ').trim().toLowerCase();
}

function askedWait(words: string): number | undefined {
  const found = WAIT.exec(words);
  if (!found) return undefined;
  const unit = found[2]?.[0];
  const seconds = Number(found[1]) * (unit === 'h' || found[2]?.startsWith('st') ? 3_600 : unit === 'm' ? 60 : 1);
  return limitedWait(seconds);
}

/** A wait that another side asks for, within our limits. */
export function limitedWait(seconds: number): number {
  return Math.min(Math.max(seconds, WAIT_SECONDS_MIN), WAIT_SECONDS_MAX);
}

/** Bounces often give a status and no code. */
function codeOfStatus(status: string | undefined): number {
  return status === undefined ? 0 : Number(status[0]) * 100;
}
