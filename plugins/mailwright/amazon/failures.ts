/** What the errors of Amazon SES mean; they have names, which say more than the status. */
import { z } from 'zod';
import {
  jsonOf,
  SendingError,
  textOf,
  type FailureMatter,
  type OutgoingMessage,
  type SendingErrorKind,
  type VendorAnswer,
} from '../../../src/plugin-api/index.ts';
import { SES } from './settings.ts';

/** How an error that is about an address of the request begins. */
const WRONG_ADDRESS =
  /^(?:missing final '@domain'|illegal address|illegal semicolon|invalid (?:domain|local|user) (?:name|address|part)|(?:local|domain) (?:address |name |part )?(?:contains|starts|ends))/i;
/** Which addresses and domains are not verified; for an account in the sandbox the recipient must be verified, too. */
const UNVERIFIED = /failed the check in region [\w-]+: (.+)$/is;

const FAILURES: Readonly<Record<string, readonly [SendingErrorKind, FailureMatter]>> = {
  AccountSuspendedException: ['unavailable', 'blocked'],
  SendingPausedException: ['unavailable', 'blocked'],
  MailFromDomainNotVerifiedException: ['refused', 'sender'],
  // There is no such configuration set: somebody has to correct the settings.
  NotFoundException: ['unavailable', 'login'],
};
/** AWS's common errors about the key; some come with the status 400. */
const ABOUT_KEY =
  /^(?:UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|AccessDenied|NotAuthorized|OptInRequired|RequestExpired|ExpiredToken)/;
const THROTTLED = /^(?:TooManyRequests|Throttling|LimitExceeded|RequestLimitExceeded)/;
const DAILY = /daily (?:message|sending) quota/i;

const errorShape = z.object({
  __type: z.string().optional(),
  message: z.string().optional(),
  Message: z.string().optional(),
});

/** The name of the error, and what it says. */
export function errorOf(answer: VendorAnswer): { readonly type: string; readonly words: string } {
  const { __type: inBody = '', message, Message } = errorShape.safeParse(jsonOf(answer)).data ?? {};
  // `MessageRejected:http://internal.amazon.com/...`, `com.amazon.coral.service#UnrecognizedClientException`
  const [type = ''] = (answer.headers['x-amzn-errortype'] ?? inBody.replace(/^.*#/, '')).split(':');
  return { type, words: message ?? Message ?? textOf(answer) };
}

export function failureOf(answer: VendorAnswer, { envelope }: OutgoingMessage): SendingError | undefined {
  const { status: code } = answer;
  const { type, words } = errorOf(answer);
  const failure = (kind: SendingErrorKind, about: FailureMatter, more = '') =>
    new SendingError(kind, `${SES} answered ${code} ${type}: ${words}${more}`, { code, about });
  const known = FAILURES[type];
  if (known) return failure(...known);
  if (ABOUT_KEY.test(type)) return failure('unavailable', 'login');
  if (THROTTLED.test(type)) return failure('deferred', DAILY.test(words) ? 'quota' : 'rate');
  if (code !== 400) return undefined;
  const unverified = UNVERIFIED.exec(words)?.[1]?.toLowerCase();
  if (unverified !== undefined)
    return isOnly(unverified, envelope.to)
      ? failure('unavailable', 'blocked', ' (The account is in the sandbox: it may send to verified addresses only.)')
      : failure('refused', 'sender');
  if (type === 'BadRequestException' && WRONG_ADDRESS.test(words)) return failure('refused', 'recipient');
  return undefined;
}

/** Whether the list, in small letters, names this address and no other. */
function isOnly(list: string, address: string): boolean {
  return list.split(',').every((entry) => entry.trim().replace(/^.*<|>$/g, '') === address.toLowerCase());
}
