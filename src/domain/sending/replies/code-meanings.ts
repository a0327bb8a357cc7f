/** What a reply says that has nothing but its code (RFC 5321 4.2, RFC 4954, RFC 7504), or not even a known one. */
import type { ReplyRule } from './reply.ts';

const CODES: ReadonlyMap<number, ReplyRule> = new Map<number, ReplyRule>([
  [421, { what: 'server is closing', class: 'transient', scope: 'server' }],
  // no SMTP, but what every vendor's web API says
  [429, { what: 'too fast', class: 'rateLimit', scope: 'server' }],
  [432, { what: 'password has to be changed', class: 'policy', scope: 'server' }],
  [450, { what: 'mailbox not available now', class: 'transient', scope: 'recipient' }],
  [451, { what: 'trouble in the mail system', class: 'transient', scope: 'domain' }],
  [452, { what: 'storage of the mail system full', class: 'transient', scope: 'domain' }],
  [454, { what: 'server cannot log in or encrypt now', class: 'transient', scope: 'server' }],
  [455, { what: 'parameters not possible now', class: 'transient', scope: 'server' }],
  [500, { what: 'command refused', class: 'policy', scope: 'server' }],
  [501, { what: 'syntax refused', class: 'policy', scope: 'message' }],
  [502, { what: 'command refused', class: 'policy', scope: 'server' }],
  [503, { what: 'command refused', class: 'policy', scope: 'server' }],
  [504, { what: 'command arguments refused', class: 'policy', scope: 'server' }],
  [521, { what: 'host takes no mail', class: 'permanent', scope: 'domain' }],
  [523, { what: 'message too large', class: 'permanent', scope: 'message' }],
  [530, { what: 'login or encryption needed', class: 'policy', scope: 'server' }],
  [534, { what: 'login method too weak', class: 'policy', scope: 'server' }],
  [535, { what: 'login refused', class: 'policy', scope: 'server' }],
  [538, { what: 'encryption needed for the login', class: 'policy', scope: 'server' }],
  [550, { what: 'mailbox not available', class: 'permanent', scope: 'recipient' }],
  [551, { what: 'mailbox is elsewhere', class: 'permanent', scope: 'recipient', isMailboxGone: true }],
  [552, { what: 'mailbox full', class: 'transient', scope: 'recipient' }],
  [553, { what: 'address refused', class: 'permanent', scope: 'recipient' }],
  [554, { what: 'message refused', class: 'permanent', scope: 'message' }],
  [555, { what: 'parameters refused', class: 'policy', scope: 'server' }],
  [556, { what: 'domain takes no mail', class: 'permanent', scope: 'recipient', isMailboxGone: true }],
]);

const FINAL: ReplyRule = { what: 'refused', class: 'permanent', scope: 'recipient' };
const LATER: ReplyRule = { what: 'not now', class: 'transient', scope: 'recipient' };
/** No refusal at all: a broken reply, or words without any code. */
const NO_REFUSAL: ReplyRule = { what: 'no answer that can be understood', class: 'transient', scope: 'server' };

/** The meaning of a code alone; of 0, or of one that is no refusal, too. */
export function codeMeaning(code: number): ReplyRule {
  const known = CODES.get(code);
  if (known) return known;
  if (code >= 500 && code < 600) return FINAL;
  return code >= 400 && code < 500 ? LATER : NO_REFUSAL;
}
