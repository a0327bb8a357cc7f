/** The meaning of a failed hand-over: what the driver says it is about, or else its text read as the reply of an SMTP server. */
import type { FailureMatter, SendingError } from '../../../plugin-api/index.ts';
import { classifyReply, limitedWait } from './classify-reply.ts';
import type { ReplyMeaning, ReplyRule } from './reply.ts';

/** A limit of an hour or a day ends at a time that vendors seldom name: asked again every ten minutes. */
const QUOTA_SECONDS = 600;

const RULES: Readonly<Record<FailureMatter, ReplyRule>> = {
  recipient: { what: 'address_refused', class: 'permanent', scope: 'recipient' },
  mailbox: { what: 'mailbox_unknown', class: 'permanent', scope: 'recipient', isMailboxGone: true },
  message: { what: 'message_refused', class: 'permanent', scope: 'message' },
  sender: { what: 'sender_address_refused', class: 'policy', scope: 'sender' },
  login: { what: 'login_refused', class: 'policy', scope: 'server' },
  blocked: { what: 'account_suspended_by_the_relay', class: 'block', scope: 'server' },
  rate: { what: 'too_fast', class: 'rate_limit', scope: 'server' },
  quota: { what: 'limit_of_the_account', class: 'rate_limit', scope: 'server', waitSeconds: QUOTA_SECONDS },
  server: { what: 'trouble_in_the_mail_system', class: 'transient', scope: 'server' },
};

/** There is always one. `code`: instead of the error's own, for errors whose driver says nothing more. */
export function meaningOfError(error: SendingError, code = error.code): ReplyMeaning {
  const { kind, about, retryAfterSeconds, enhancedStatus, message } = error;
  if (about === undefined) return classifyReply({ code, enhancedStatus, text: message });
  const rule = RULES[about];
  const isFinal = kind === 'refused';
  const waitSeconds = retryAfterSeconds === undefined ? rule.waitSeconds : limitedWait(retryAfterSeconds);
  return {
    class: rule.class === 'permanent' && !isFinal ? 'transient' : rule.class,
    scope: rule.scope,
    what: rule.what,
    isMailboxGone: isFinal && rule.isMailboxGone === true,
    ...(waitSeconds === undefined ? {} : { waitSeconds }),
  };
}
