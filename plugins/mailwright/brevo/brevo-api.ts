/**
 * Brevo's web interface: a message in fields, one recipient a request. Its `idempotencyKey` is not used: documents disagree about it, and a
 * message that was repeated gets no id.
 */
import { z } from 'zod';
import {
  checkSettings,
  connectionsField,
  endpointField,
  failureByStatus,
  httpDriver,
  jsonOf,
  readMessageParts,
  requiredLine,
  retryAfterSeconds,
  SendingError,
  textOf,
  webhookFields,
  type AskVendor,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type FailureMatter,
  type OutgoingMessage,
  type ReadableVendor,
  type SendingDriver,
  type SettingsCheck,
  type SettingsInput,
  type VendorAnswer,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { brevoMessage } from './brevo-message.ts';

export const NAME = 'Brevo';
const ORIGIN = 'https://api.brevo.com';
/** Its limit for a mail with its attachments. */
const CONTENT_BYTES_MAX = 20 * 1_048_576;
/** How those keys begin that can only log in to its SMTP server. */
const SMTP_KEY = 'xsmtpsib-';
const RESET_SECONDS_MAX = 86_400;

const settingsSchema = z.object({
  api_key: requiredLine('API key').refine((key) => !key.startsWith(SMTP_KEY), {
    error: 'This is an SMTP key. Use an API key, which begins with xkeysib-, or the type brevo-smtp.',
  }),
  max_connections: connectionsField,
  endpoint: endpointField,
  ...webhookFields,
});

export function validateBrevo(input: SettingsInput): SettingsCheck {
  return checkSettings(settingsSchema, input);
}

/** What every request needs. */
export function accountOf(given: DriverSettings): Pick<ReadableVendor, 'origin' | 'headers'> {
  const { api_key: key, endpoint } = settingsSchema.parse(given);
  return { origin: endpoint ?? ORIGIN, headers: { 'api-key': key, Accept: 'application/json' } };
}

export function connectBrevo(given: DriverSettings, options: DriverOptions): SendingDriver {
  const { origin, headers } = accountOf(given);
  return httpDriver(options, {
    name: NAME,
    origin,
    contentBytesMax: CONTENT_BYTES_MAX,
    prepare: (message) => requestFor(message, headers),
    idOf: (answer) => idShape.safeParse(jsonOf(answer)).data?.messageId.replace(/^<|>$/g, ''),
    failureOf,
    test: (ask) => testAccount(ask, headers),
  });
}

const idShape = z.object({ messageId: z.string().min(3) });

async function requestFor(message: OutgoingMessage, headers: Readonly<Record<string, string>>): Promise<VendorRequest> {
  const body = JSON.stringify(brevoMessage(await readMessageParts(message), message.idempotencyKey));
  return { method: 'POST', path: '/v3/smtp/email', headers: { ...headers, 'Content-Type': 'application/json' }, body };
}

const errorShape = z.object({ code: z.string(), message: z.string().default('') });

/** What its codes mean, whatever the status; those of a wrong field are read by their words. */
const ACCOUNT_MATTERS: Readonly<Record<string, FailureMatter>> = {
  unauthorized: 'login',
  permission_denied: 'login',
  reseller_permission_denied: 'login',
  account_under_validation: 'blocked',
  not_enough_credits: 'quota',
};
const INACTIVE = /not (?:yet )?activated|suspended|under validation|blocked/i;
const ABOUT_SENDER = /\bsender\b/i;
const ABOUT_RECIPIENT = /\b(?:valid|missing) in to\b|\bto(?:\[\d{1,3}\])?\.email\b|\brecipient\b/i;

function failureOf(answer: VendorAnswer): SendingError | undefined {
  const { status: code } = answer;
  const text = `${NAME} answered ${code}: ${textOf(answer)}`;
  if (code >= 500) return undefined;
  if (code === 429)
    return new SendingError('deferred', text, { code, about: 'rate', retryAfterSeconds: waitOf(answer) });
  const error = errorShape.safeParse(jsonOf(answer)).data;
  if (!error) return undefined;
  const matter = ACCOUNT_MATTERS[error.code];
  if (matter !== undefined)
    return new SendingError('unavailable', text, { code, about: INACTIVE.test(error.message) ? 'blocked' : matter });
  if (code !== 400 && code !== 422) return undefined;
  const about = ABOUT_SENDER.test(error.message)
    ? 'sender'
    : ABOUT_RECIPIENT.test(error.message)
      ? 'recipient'
      : 'message';
  return new SendingError('refused', text, { code, about });
}

/** Brevo sends the seconds until its limit begins anew in a header of its own. */
function waitOf(answer: VendorAnswer): number | undefined {
  const reset = Number(answer.headers['x-sib-ratelimit-reset']);
  const isWait = Number.isInteger(reset) && reset > 0 && reset <= RESET_SECONDS_MAX;
  return retryAfterSeconds(answer) ?? (isWait ? reset : undefined);
}

const accountShape = z.object({
  relay: z.object({ enabled: z.boolean() }).nullish(),
  plan: z.array(z.object({ type: z.string(), credits: z.number().nullish(), creditsType: z.string().nullish() })),
});

async function testAccount(ask: AskVendor, headers: Readonly<Record<string, string>>): Promise<ConnectionTest> {
  const answer = await ask({ method: 'GET', path: '/v3/account', headers });
  const failed = (message: string): ConnectionTest => ({ ok: false, message });
  if (answer.status === 401) return failed(loginFault(answer));
  if (answer.status === 403) return failed(`${NAME} does not let this account use its interface: ${textOf(answer)}`);
  if (answer.status === 429)
    return failed(`${NAME} answers only a few tests of settings an hour. Try again in an hour.`);
  if (answer.status !== 200) return failed(failureByStatus(NAME, answer).message);
  const account = accountShape.safeParse(jsonOf(answer)).data;
  if (!account) return failed(`${NAME} answered something else than its account: is the endpoint right?`);
  if (account.relay?.enabled === false)
    return failed(
      `The account may not send transactional mails yet, or no more. Ask the support of ${NAME} to activate it.`,
    );
  const limits = account.plan.filter(({ type, creditsType }) => type !== 'sms' && creditsType === 'sendLimit');
  if (limits.length > 0 && limits.every(({ credits }) => (credits ?? 0) <= 0))
    return failed(`The plan at ${NAME} has no mails left. Buy more, or wait until its next period begins.`);
  return { ok: true };
}

function loginFault(answer: VendorAnswer): string {
  return /\bIP\b/i.test(textOf(answer))
    ? `${NAME} does not know the IP address of this machine. Add it to the authorised IP addresses of the account, or switch that check off there: ${textOf(answer)}`
    : `${NAME} refused the API key. It must be an API key of version 3, which begins with xkeysib-.`;
}
