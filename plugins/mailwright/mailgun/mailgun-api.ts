/**
 * Mailgun's web interface: the whole message as MIME, one recipient a request. Mailgun replaces `%recipient.name%` only where a request has
 * recipient variables, which ours never have.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  checkSettings,
  choiceOf,
  connectionsField,
  endpointField,
  failureByStatus,
  httpDriver,
  jsonOf,
  requiredLine,
  SendingError,
  textOf,
  type AskVendor,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type OutgoingMessage,
  type SendingDriver,
  type SettingsCheck,
  type SettingsInput,
  type VendorAnswer,
  type VendorRequest,
} from '../../../src/plugin-api/index.ts';
import { SIGNING_KEY, signingKeyField } from './webhook.ts';

const NAME = 'Mailgun';
export const REGIONS = {
  us: { api: 'https://api.mailgun.net', smtp: 'smtp.mailgun.org' },
  eu: { api: 'https://api.eu.mailgun.net', smtp: 'smtp.eu.mailgun.org' },
} as const;
/** Its limit for a whole message. */
const CONTENT_BYTES_MAX = 25 * 1_048_576;
const DOMAIN = /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+$/;
/** With it an account or a domain is refused, by the status 400, 403 or 429. */
const NOT_ALLOWED = /is not allowed to send/i;
const TRY_AGAIN = /try again (?:after|in) (\d{1,6}) (second|minute|hour)/i;
const SECONDS_OF = { second: 1, minute: 60, hour: 3_600 } as const;
/** Which address of the request is wrong. */
const WRONG_ADDRESS = /'?(to|from)'? parameter is not a valid address/i;

const settingsSchema = z.object({
  region: choiceOf('region', ['us', 'eu']),
  domain: requiredLine('domain').pipe(z.string().regex(DOMAIN, { error: 'The domain must be a domain name.' })),
  api_key: requiredLine('API key'),
  [SIGNING_KEY]: signingKeyField,
  max_connections: connectionsField,
  endpoint: endpointField,
});

export function validateMailgun(input: SettingsInput): SettingsCheck {
  return checkSettings(settingsSchema, input);
}

export function connectMailgun(given: DriverSettings, options: DriverOptions): SendingDriver {
  const { origin, ...account } = accountOf(given);
  return httpDriver(options, {
    ...{ name: NAME, origin },
    contentBytesMax: CONTENT_BYTES_MAX,
    prepare: (message) => requestFor(message, account),
    idOf: (answer) => idShape.safeParse(jsonOf(answer)).data?.id.replace(/^<|>$/g, ''),
    failureOf,
    test: (ask) => testDomain(ask, account),
  });
}

/** Where the account is, and how to log in. */
export function accountOf(given: DriverSettings): Account & { readonly origin: string } {
  const { region, domain, api_key: key, endpoint } = settingsSchema.parse(given);
  const authorization = `Basic ${Buffer.from(`api:${key}`).toString('base64')}`;
  return { origin: endpoint ?? REGIONS[region].api, domain, authorization };
}

const idShape = z.object({ id: z.string().min(3) });

interface Account {
  readonly domain: string;
  readonly authorization: string;
}

function requestFor(message: OutgoingMessage, { domain, authorization }: Account): VendorRequest {
  const boundary = `mailwright-${randomBytes(12).toString('hex')}`;
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const before =
    field('to', message.envelope.to) +
    field('v:mailwright_id', message.idempotencyKey) +
    // Links and pixels are ours already.
    field('o:tracking', 'no') +
    `--${boundary}\r\nContent-Disposition: form-data; name="message"; filename="message.eml"\r\n` +
    'Content-Type: message/rfc822\r\n\r\n';
  return {
    method: 'POST',
    path: `/v3/${encodeURIComponent(domain)}/messages.mime`,
    headers: { Authorization: authorization, 'Content-Type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(before), message.content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
}

/** Mailgun's own words; the same trouble of an account comes with several statuses. */
function failureOf(answer: VendorAnswer): SendingError | undefined {
  const { status: code } = answer;
  const text = `${NAME} answered ${code}: ${textOf(answer)}`;
  if (code >= 500) return undefined;
  if (NOT_ALLOWED.test(text)) {
    const [, amount, unit = 'second'] = TRY_AGAIN.exec(text) ?? [];
    if (amount === undefined) return new SendingError('unavailable', text, { code, about: 'blocked' });
    const retryAfterSeconds = Number(amount) * SECONDS_OF[unitOf(unit)];
    return new SendingError('deferred', text, { code, about: 'rate', retryAfterSeconds });
  }
  const wrong = WRONG_ADDRESS.exec(text)?.[1];
  if (wrong !== undefined)
    return new SendingError('refused', text, { code, about: wrong === 'to' ? 'recipient' : 'sender' });
  return undefined;
}

function unitOf(word: string): keyof typeof SECONDS_OF {
  return word.startsWith('h') ? 'hour' : word.startsWith('m') ? 'minute' : 'second';
}

const domainShape = z.object({
  domain: z.object({ state: z.string(), disabled: z.object({ reason: z.string().optional() }).nullish() }),
});

async function testDomain(ask: AskVendor, { domain, authorization }: Account): Promise<ConnectionTest> {
  const path = `/v4/domains/${encodeURIComponent(domain)}`;
  const answer = await ask({ method: 'GET', path, headers: { Authorization: authorization } });
  if (answer.status === 401 || answer.status === 403)
    return {
      ok: false,
      message: `${NAME} refused the API key. A key that may only send cannot be tested: use a key of the account, of the right region.`,
    };
  if (answer.status === 404)
    return { ok: false, message: `${NAME} does not know the domain ${domain} in this region and account.` };
  if (answer.status !== 200) return { ok: false, message: failureByStatus(NAME, answer).message };
  const found = domainShape.safeParse(jsonOf(answer)).data?.domain;
  if (!found) return { ok: false, message: `${NAME} answered something else than its domain: is the endpoint right?` };
  if (found.state === 'active') return { ok: true };
  const why = found.disabled?.reason ?? 'its DNS records are not verified';
  return { ok: false, message: `The domain ${domain} is ${found.state} at ${NAME}: ${why}.` };
}
