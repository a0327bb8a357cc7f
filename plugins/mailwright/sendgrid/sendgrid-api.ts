/**
 * SendGrid's web interface: it takes fields and composes the message itself, so it chooses Return-Path, Date and the boundaries. One
 * recipient a request. It replaces names in a text only where a request has substitutions or a template, which ours never have.
 */
import { z } from 'zod';
import {
  checkSettings,
  choiceOf,
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
  type AskVendor,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type MessageAddress,
  type MessageFile,
  type MessageParts,
  type OutgoingMessage,
  type SendingDriver,
  type SettingsCheck,
  type SettingsInput,
  type VendorAnswer,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { OWN_ID, PUBLIC_KEY, publicKeyField } from './webhook.ts';

export const NAME = 'SendGrid';
/** Accounts of the EU are subusers with keys of their own. */
export const REGIONS = {
  global: { api: 'https://api.sendgrid.com', smtp: 'smtp.sendgrid.net' },
  eu: { api: 'https://api.eu.sendgrid.com', smtp: 'smtp.eu.sendgrid.net' },
} as const;
/** Its limit for a message with all attachments. */
const CONTENT_BYTES_MAX = 30 * 1_048_576;
/** A message with one of these headers is refused; it writes them itself. */
const REFUSED_HEADERS = /^(?:x-sg-id|x-sg-eid|received|dkim-signature)$/i;
/** A text of no characters is refused. */
const NO_TEXT = ' ';
/** Nothing of its own in the message: links and pixels are ours already, and the link to unsubscribe is. */
const NOTHING_ADDED = {
  tracking_settings: {
    click_tracking: { enable: false, enable_text: false },
    open_tracking: { enable: false },
    subscription_tracking: { enable: false },
    ganalytics: { enable: false },
  },
  mail_settings: { footer: { enable: false } },
};
/** Paid accounts may send more than their plan has, up to two and a half times as much. */
const OVERAGE_MAX = 1.5;

const settingsSchema = z.object({
  region: choiceOf('region', ['global', 'eu']),
  api_key: requiredLine('API key'),
  [PUBLIC_KEY]: publicKeyField,
  max_connections: connectionsField,
  endpoint: endpointField,
});

export function validateSendGrid(input: SettingsInput): SettingsCheck {
  return checkSettings(settingsSchema, input);
}

export function connectSendGrid(given: DriverSettings, options: DriverOptions): SendingDriver {
  const { origin, ...account } = accountOf(given);
  return httpDriver(options, {
    ...{ name: NAME, origin },
    contentBytesMax: CONTENT_BYTES_MAX,
    prepare: (message) => requestFor(message, account.authorization),
    // 200 is the answer of its sandbox, which sends nothing.
    idOf: ({ status, headers }) => (status === 202 ? headers['x-message-id'] || undefined : undefined),
    failureOf,
    test: (ask) => testAccount(ask, account),
  });
}

/** Where the account is, and how to log in. */
export function accountOf(given: DriverSettings): Account & { readonly origin: string } {
  const { region, api_key: key, endpoint } = settingsSchema.parse(given);
  return { origin: endpoint ?? REGIONS[region].api, region, authorization: `Bearer ${key}` };
}

async function requestFor(message: OutgoingMessage, authorization: string): Promise<VendorRequest> {
  const parts = await readMessageParts(message);
  return {
    method: 'POST',
    path: '/v3/mail/send',
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    body: JSON.stringify(fieldsOf(message, parts)),
  };
}

function fieldsOf({ envelope, idempotencyKey }: OutgoingMessage, parts: MessageParts) {
  return {
    personalizations: [
      {
        to: [address({ name: parts.to.name, email: envelope.to })],
        // Reports have it beside their own fields. It may name nobody: SendGrid keeps it for ever.
        custom_args: { [OWN_ID]: idempotencyKey },
      },
    ],
    from: address(parts.from),
    ...(parts.replyTo && { reply_to: address(parts.replyTo) }),
    subject: parts.subject,
    content: contentOf(parts),
    ...(parts.files.length > 0 && { attachments: parts.files.map((file) => attachmentOf(file)) }),
    // Among them Message-ID, List-Unsubscribe, List-Unsubscribe-Post, List-Id, Feedback-ID and Precedence. Encoded words stay as they are.
    headers: Object.fromEntries(parts.headers.filter(([name]) => !REFUSED_HEADERS.test(name))),
    ...NOTHING_ADDED,
  };
}

function address({ name, email }: MessageAddress) {
  return { email, ...(name !== '' && { name }) };
}

/** The plain text has to be first. */
function contentOf({ text, html }: MessageParts) {
  const parts = [
    ...(text ? [{ type: 'text/plain', value: text }] : []),
    ...(html ? [{ type: 'text/html', value: html }] : []),
  ];
  return parts.length > 0 ? parts : [{ type: 'text/plain', value: NO_TEXT }];
}

function attachmentOf({ name, type, content, contentId }: MessageFile) {
  return {
    content: Buffer.from(content).toString('base64'),
    type,
    filename: name || 'attachment',
    ...(contentId === null ? { disposition: 'attachment' } : { disposition: 'inline', content_id: contentId }),
  };
}

const errorsShape = z.object({
  errors: z.array(z.looseObject({ message: z.coerce.string(), field: z.string().nullish() })),
});

/** SendGrid's own words; 401 may be the login, the account, or nothing left to pay with. */
function failureOf(answer: VendorAnswer): SendingError | undefined {
  const { status: code } = answer;
  const errors = errorsShape.safeParse(jsonOf(answer)).data?.errors ?? [];
  const said = errors.map(({ message }) => message).join(' ');
  const text = `${NAME} answered ${code}: ${textOf(answer)}`;
  if (code === 429)
    return new SendingError('deferred', text, { code, about: 'rate', retryAfterSeconds: secondsToReset(answer) });
  if (code === 401 && isQuota(said)) return new SendingError('unavailable', text, { code, about: 'quota' });
  if ((code === 401 || code === 403) && isSuspended(said))
    return new SendingError('unavailable', text, { code, about: 'blocked' });
  const fields = errors.map(({ field }) => field ?? '');
  if ((code === 400 || code === 403) && (isUnverified(said) || fields.some((field) => field.startsWith('from'))))
    return new SendingError('refused', text, { code, about: 'sender' });
  if (code === 400 && fields.some((field) => /^personalizations\.\d+\.to\b/.test(field)))
    return new SendingError('refused', text, { code, about: 'recipient' });
  return undefined;
}

const isQuota = (text: string) => /maximum credits exceeded/i.test(text);
const isUnverified = (text: string) => /does not match a verified sender identity/i.test(text);
const isSuspended = (text: string) =>
  /not authorized to send (?:e-?)?mail|account (?:is |has been )?(?:suspended|disabled|frozen|banned|deactivated|under review)/i.test(
    text,
  );

/** By its own header, a time in seconds since 1970; it sends no Retry-After. */
function secondsToReset(answer: VendorAnswer): number | undefined {
  const reset = Number(answer.headers['x-ratelimit-reset'] ?? Number.NaN);
  return Number.isFinite(reset) ? Math.max(1, Math.ceil(reset - Date.now() / 1_000)) : retryAfterSeconds(answer);
}

const scopesShape = z.object({ scopes: z.array(z.string()) });
const creditsShape = z.object({
  remain: z.number(),
  total: z.number(),
  overage: z.number(),
  used: z.number(),
  next_reset: z.string(),
});

interface Account {
  readonly region: keyof typeof REGIONS;
  readonly authorization: string;
}

/** Every key may read its own rights. The account's credits only with a right of their own: without it they are not looked at. */
async function testAccount(ask: AskVendor, { region, authorization }: Account): Promise<ConnectionTest> {
  const headers = { Authorization: authorization };
  const answer = await ask({ method: 'GET', path: '/v3/scopes', headers });
  if (answer.status !== 200) return { ok: false, message: whyNotAllowed(answer, region) };
  const scopes = scopesShape.safeParse(jsonOf(answer)).data?.scopes;
  if (!scopes) return { ok: false, message: `${NAME} answered something else than its rights: is the endpoint right?` };
  if (!scopes.includes('mail.send'))
    return { ok: false, message: `The API key may not send mail: give it the permission "Mail Send" at ${NAME}.` };
  const credits = creditsShape.safeParse(jsonOf(await ask({ method: 'GET', path: '/v3/user/credits', headers }))).data;
  if (!credits || credits.total <= 0 || credits.remain > 0) return { ok: true };
  const { total, overage, used, next_reset: reset } = credits;
  if (overage > 0 && overage < OVERAGE_MAX * total) return { ok: true };
  return {
    ok: false,
    message: `The account has used ${used} of its ${total} messages at ${NAME}. It can send again on ${reset}, or with a larger plan.`,
  };
}

function whyNotAllowed(answer: VendorAnswer, region: keyof typeof REGIONS): string {
  const failure = failureOf(answer) ?? failureByStatus(NAME, answer);
  if (failure.about === 'quota') return `The account has no messages left at ${NAME}: ${textOf(answer)}`;
  if (failure.about === 'blocked')
    return `${NAME} lets this account send nothing. Write to its support: ${textOf(answer)}`;
  if (answer.status === 401)
    return `${NAME} refused the API key. Is it whole, is it still there, and is it a key of the region "${region}"?`;
  if (answer.status === 403)
    return `${NAME} lets this account or machine do nothing: the account may be suspended, or its IP access management may not list this machine. ${textOf(answer)}`;
  return failure.message;
}
