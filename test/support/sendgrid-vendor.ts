/**
 * SendGrid as its documents describe it: `/v3/mail/send`, the rights of a key, the credits of an account, signed reports. Fields and error
 * bodies as in `spec/json/tsg_mail_v3.json`, `tsg_scopes_v3.json` and `tsg_user_v3.json` of github.com/twilio/sendgrid-oai.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { z } from 'zod';
import { startApiVendor, type ApiAnswer, type ApiRequest, type ApiVendor } from './api-vendor.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';

export const SENDGRID_KEY = 'SG.key-of-the-account';
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const SENDGRID_PUBLIC_KEY = keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
const BYTES_MAX = 30 * 1_048_576;
const ARGS_BYTES_MAX = 10_000;
const RESERVED =
  /^(?:x-sg-id|x-sg-eid|received|dkim-signature|content-type|content-transfer-encoding|to|from|subject|reply-to|cc|bcc)$/i;

const error = (status: number, message: string, field: string | null = null): ApiAnswer => ({
  status,
  body: { errors: [{ message, field, help: null }] },
});

export interface SendGridAccount {
  /** The answer about the rights of the key; a list of them is usual. */
  readonly scopes?: readonly string[] | ApiAnswer;
  /** Absent: the key may not read them. */
  readonly credits?: object;
}

export function startSendGridVendor({ scopes = ['mail.send'], credits }: SendGridAccount = {}): Promise<ApiVendor> {
  const others: Readonly<Record<string, ApiAnswer | undefined>> = {
    '/v3/scopes': 'status' in scopes ? scopes : { status: 200, body: { scopes } },
    '/v3/user/credits': credits ? { status: 200, body: credits } : error(403, 'access forbidden'),
    '/v3/verified_senders': {
      status: 200,
      body: { results: [{ id: 1234, from_email: 'ann@house.test', nickname: 'Ann', verified: true, locked: false }] },
    },
  };
  const senders = domains();
  return startApiVendor({
    settings: (endpoint) => ({ api_key: SENDGRID_KEY, endpoint, webhook_public_key: SENDGRID_PUBLIC_KEY }),
    refusalOf: ({ headers }) =>
      headers.authorization === `Bearer ${SENDGRID_KEY}`
        ? undefined
        : error(401, 'The provided authorization grant is invalid, expired, or revoked'),
    isSend: ({ method, path }) => method === 'POST' && path === '/v3/mail/send',
    messageOf,
    accepted: ({ id }) => ({ status: 202, headers: { 'X-Message-Id': id } }),
    idOf: (number) => `euo2iKxdSayPF4YE4-I${String(number).padStart(3, '0')}`,
    other: (request) =>
      (request.method === 'GET' ? others[request.path] : undefined) ?? senders(request) ?? error(404, 'not found'),
    refuses: error(400, 'Does not contain a valid address.', 'personalizations.0.to.0.email'),
    defers: { ...error(429, 'too many requests'), headers: { 'X-RateLimit-Remaining': '0' } },
  });
}

/** The domains of the account: one that is valid, and those that are added. */
function domains(): (request: ApiRequest) => ApiAnswer | undefined {
  const known: { readonly id: number; readonly domain: string; valid: boolean }[] = [
    { id: 1, domain: 'house.test', valid: true },
  ];
  const one = ({ id, domain, valid }: (typeof known)[number]) => {
    const record = (host: string, data: string) => ({ valid, type: 'cname', host: `${host}.${domain}`, data });
    const dns = {
      mail_cname: record('em1', 'u1.wl.sendgrid.net'),
      dkim1: record('s1._domainkey', 's1.domainkey.u1.wl.sendgrid.net'),
      dkim2: record('s2._domainkey', 's2.domainkey.u1.wl.sendgrid.net'),
    };
    return { id, domain, subdomain: 'em1', automatic_security: true, valid, dns };
  };
  return ({ method, path, query, body }) => {
    const [whole, id, verb] = /^\/v3\/whitelabel\/domains(?:\/(\d+)(\/validate)?)?$/.exec(path) ?? [];
    if (whole === undefined) return undefined;
    if (id === undefined && method === 'POST') {
      const domain = String(JSON.parse(body.toString('utf8')).domain);
      if (known.some((other) => other.domain === domain)) return error(400, 'domain already exists', 'domain');
      const added = { id: known.length + 1, domain, valid: false };
      known.push(added);
      return { status: 201, body: one(added) };
    }
    if (id === undefined) {
      const wanted = query.get('domain');
      const from = Number(query.get('offset') ?? 0);
      const found = known.filter(({ domain }) => wanted === null || domain.includes(wanted));
      return { status: 200, body: found.slice(from, from + Number(query.get('limit'))).map(one) };
    }
    const found = known.find((other) => String(other.id) === id);
    if (!found) return error(404, 'not found');
    if (verb === undefined) return { status: 200, body: one(found) };
    if (method !== 'POST') return error(405, 'method not allowed');
    found.valid = true;
    return { status: 200, body: { id: found.id, valid: true, validation_results: {} } };
  };
}

const person = z.object({ email: z.email(), name: z.string().optional() });
const mailShape = z.object({
  personalizations: z
    .array(z.object({ to: z.array(person).min(1), custom_args: z.record(z.string(), z.string()).optional() }))
    .min(1),
  from: person,
  reply_to: person.optional(),
  subject: z.string().min(1),
  content: z.array(z.object({ type: z.string().min(1), value: z.string().min(1) })).min(1),
  attachments: z
    .array(
      z.object({
        content: z.base64().min(1),
        type: z
          .string()
          .min(1)
          .regex(/^[^;\r\n]+$/)
          .optional(),
        filename: z
          .string()
          .min(1)
          .regex(/^[^\r\n]+$/),
        disposition: z.enum(['inline', 'attachment']).optional(),
        content_id: z.string().optional(),
      }),
    )
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

function messageOf({ headers, body }: ApiRequest): { to: string; content: string } | ApiAnswer {
  if (headers['content-type'] !== 'application/json') return error(415, 'Unsupported Media Type');
  if (body.byteLength > BYTES_MAX) return error(413, 'content too large');
  const parsed = mailShape.safeParse(JSON.parse(body.toString('utf8')));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return error(400, issue?.message ?? '', issue?.path.join('.') ?? null);
  }
  const mail = parsed.data;
  const [personalization] = mail.personalizations;
  const to = personalization?.to[0]?.email ?? '';
  if (Buffer.byteLength(JSON.stringify(personalization?.custom_args ?? {})) > ARGS_BYTES_MAX)
    return error(400, 'The custom_args may not exceed 10000 bytes.', 'personalizations.0.custom_args');
  const types = mail.content.map(({ type }) => type);
  if (types.includes('text/plain') && types[0] !== 'text/plain')
    return error(400, 'If present, text/plain must be first, followed by text/html.', 'content');
  for (const [name, value] of Object.entries(mail.headers ?? {})) {
    if (RESERVED.test(name)) return error(400, `${name} may not be overridden.`, 'headers');
    // oxlint-disable-next-line no-control-regex -- the header's value must be printable ASCII
    if (!/^[\x20-\x7e]*$/.test(value)) return error(400, 'Headers must be encoded if they contain Unicode.', 'headers');
  }
  return { to, content: mail.content.map(({ value }) => value).join('\n') };
}

/** A request as SendGrid posts it: the list ends with a line, which is signed with it. */
export function sendGridReport(
  events: readonly unknown[],
  { at = new Date(), signedAt = at }: { at?: Date; signedAt?: Date } = {},
): WebhookRequest {
  return signedBody(`${JSON.stringify(events)}\r\n`, { at, signedAt });
}

/** Any text, signed as SendGrid signs. */
export function signedBody(
  content: string,
  { at = new Date(), signedAt = at }: { at?: Date; signedAt?: Date } = {},
): WebhookRequest {
  const timestamp = String(Math.floor(signedAt.getTime() / 1_000));
  const body = Buffer.from(content);
  const signature = sign('sha256', Buffer.concat([Buffer.from(timestamp), body]), keys.privateKey).toString('base64');
  return {
    method: 'POST',
    headers: {
      'x-twilio-email-event-webhook-signature': signature,
      'x-twilio-email-event-webhook-timestamp': timestamp,
    },
    query: {},
    body,
    receivedAt: at,
  };
}
