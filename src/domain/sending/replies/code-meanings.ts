/** The meaning of a reply with only a code (RFC 5321 4.2, RFC 4954, RFC 7504), or an unknown one. */
import type { ReplyRule } from './reply.ts';

const CODES: ReadonlyMap<number, ReplyRule> = new Map<number, ReplyRule>([
  [421, { what: 'server_is_closing', class: 'transient', scope: 'server' }],
  // no SMTP code, but used by vendors' web APIs
  [429, { what: 'too_fast', class: 'rate_limit', scope: 'server' }],
  [432, { what: 'password_has_to_be_changed', class: 'policy', scope: 'server' }],
  [450, { what: 'mailbox_not_available_now', class: 'transient', scope: 'recipient' }],
  [451, { what: 'trouble_in_the_mail_system', class: 'transient', scope: 'domain' }],
  [452, { what: 'storage_of_the_mail_system_full', class: 'transient', scope: 'domain' }],
  [454, { what: 'server_cannot_log_in_or_encrypt_now', class: 'transient', scope: 'server' }],
  [455, { what: 'parameters_not_possible_now', class: 'transient', scope: 'server' }],
  [500, { what: 'command_refused', class: 'policy', scope: 'server' }],
  [501, { what: 'syntax_refused', class: 'policy', scope: 'message' }],
  [502, { what: 'command_refused', class: 'policy', scope: 'server' }],
  [503, { what: 'command_refused', class: 'policy', scope: 'server' }],
  [504, { what: 'command_arguments_refused', class: 'policy', scope: 'server' }],
  [521, { what: 'host_takes_no_mail', class: 'permanent', scope: 'domain' }],
  [523, { what: 'message_too_large', class: 'permanent', scope: 'message' }],
  [530, { what: 'login_or_encryption_needed', class: 'policy', scope: 'server' }],
  [534, { what: 'login_method_too_weak', class: 'policy', scope: 'server' }],
  [535, { what: 'login_refused', class: 'policy', scope: 'server' }],
  [538, { what: 'encryption_needed_for_the_login', class: 'policy', scope: 'server' }],
  [550, { what: 'mailbox_not_available', class: 'permanent', scope: 'recipient' }],
  [551, { what: 'mailbox_is_elsewhere', class: 'permanent', scope: 'recipient', isMailboxGone: true }],
  [552, { what: 'mailbox_full', class: 'transient', scope: 'recipient' }],
  [553, { what: 'address_refused', class: 'permanent', scope: 'recipient' }],
  [554, { what: 'message_refused', class: 'permanent', scope: 'message' }],
  [555, { what: 'parameters_refused', class: 'policy', scope: 'server' }],
  [556, { what: 'domain_takes_no_mail', class: 'permanent', scope: 'recipient', isMailboxGone: true }],
]);

const FINAL: ReplyRule = { what: 'refused', class: 'permanent', scope: 'recipient' };
const LATER: ReplyRule = { what: 'not_now', class: 'transient', scope: 'recipient' };
/** No refusal: a broken reply, or words without any code. */
const NO_REFUSAL: ReplyRule = { what: 'no_answer_that_can_be_understood', class: 'transient', scope: 'server' };

/** The meaning of a code alone; also of 0, or of one that is no refusal. */
export function codeMeaning(code: number): ReplyRule {
  const known = CODES.get(code);
  if (known) return known;
  if (code >= 500 && code < 600) return FINAL;
  return code >= 400 && code < 500 ? LATER : NO_REFUSAL;
}
