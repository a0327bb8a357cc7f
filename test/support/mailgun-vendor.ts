/** Mailgun as its documents describe it: `messages.mime` of one domain, the state of the domain, signed reports. */
import { createHmac, randomBytes } from 'node:crypto';
import { startApiVendor, type ApiAnswer, type ApiRequest, type ApiVendor } from './api-vendor.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';

export const MAILGUN_KEY = 'key-of-the-account';
export const MAILGUN_SIGNING_KEY = 'key-of-the-webhooks';
const DOMAIN = 'mg.house.test';

export function startMailgunVendor(): Promise<ApiVendor> {
  return startApiVendor({
    settings: (endpoint) => ({
      ...{ domain: DOMAIN, api_key: MAILGUN_KEY, endpoint },
      webhook_signing_key: MAILGUN_SIGNING_KEY,
    }),
    refusalOf: ({ headers }) =>
      headers.authorization === `Basic ${Buffer.from(`api:${MAILGUN_KEY}`).toString('base64')}`
        ? undefined
        : { status: 401, headers: { 'Content-Type': 'application/json' }, body: '"Forbidden"' },
    isSend: ({ method, path }) => method === 'POST' && path === `/v3/${DOMAIN}/messages.mime`,
    messageOf,
    accepted: ({ id }) => ({ status: 200, body: { id: `<${id}>`, message: 'Queued. Thank you.' } }),
    idOf: (number) => `2026112713.${number}.abc@${DOMAIN}`,
    other: domains(),
    refuses: { status: 400, body: { message: "'to' parameter is not a valid address. please check documentation" } },
    defers: {
      status: 429,
      body: {
        message: `Domain ${DOMAIN} is not allowed to send: recipient limit exceeded, try again after 30 seconds`,
      },
    },
  });
}

/** The domains of the account: one that is active, and those that are added. */
function domains(): (request: ApiRequest) => ApiAnswer {
  const known = new Map([[DOMAIN, 'active']]);
  const one = (name: string): ApiAnswer => ({
    status: 200,
    body: {
      domain: { name, state: known.get(name) },
      sending_dns_records: [
        {
          record_type: 'TXT',
          name,
          value: 'v=spf1 include:mailgun.org ~all',
          valid: known.get(name) === 'active' ? 'valid' : 'unknown',
        },
      ],
    },
  });
  const missing: ApiAnswer = { status: 404, body: { message: 'Domain not found' } };
  return ({ method, path, body }) => {
    const [, name = '', verb] = /^\/v4\/domains(?:\/([^/]+)(\/verify)?)?$/.exec(path) ?? [path];
    if (path === '/v4/domains' && method === 'GET')
      return {
        status: 200,
        body: { items: [...known].map(([name_, state]) => ({ name: name_, state })), total_count: known.size },
      };
    if (path === '/v4/domains' && method === 'POST') {
      const added = new URLSearchParams(body.toString()).get('name') ?? '';
      if (known.has(added)) return { status: 400, body: { message: 'This domain name is already taken' } };
      known.set(added, 'unverified');
      return one(added);
    }
    if (!known.has(name)) return missing;
    if (verb && method === 'PUT') known.set(name, 'active');
    return one(name);
  };
}

async function messageOf({ headers, body }: ApiRequest): Promise<{ to: string; content: string } | ApiAnswer> {
  const form = await new Response(new Uint8Array(body), {
    headers: { 'Content-Type': String(headers['content-type']) },
  }).formData();
  const to = form.getAll('to');
  const message = form.get('message');
  if (to.length !== 1 || typeof to[0] !== 'string' || !(message instanceof File))
    return { status: 400, body: { message: 'to and message parameters are required' } };
  return { to: to[0], content: Buffer.from(await message.arrayBuffer()).toString('utf8') };
}

/** A request as Mailgun posts it. */
export function mailgunReport(
  data: object,
  {
    key = MAILGUN_SIGNING_KEY,
    at = new Date(),
    token = randomBytes(25).toString('hex'),
  }: { key?: string; at?: Date; token?: string } = {},
): WebhookRequest {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signature = createHmac('sha256', key)
    .update(timestamp + token)
    .digest('hex');
  const body = Buffer.from(JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': data }));
  return { method: 'POST', headers: {}, query: {}, body, receivedAt: at };
}
