/**
 * SparkPost as its documents describe it (content/api of github.com/SparkPost/developers.sparkpost.com: transmissions, template-language,
 * account, webhooks): MIME in JSON, its template language in headers, List-Unsubscribe of its own, the state of an account.
 */
import { z } from 'zod';
import { startApiVendor, type ApiAnswer, type ApiRequest, type ApiVendor } from './api-vendor.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';

export const SPARKPOST_KEY = 'key-of-the-account';
export const SPARKPOST_WEBHOOK_KEY = '0123456789abcdef0123456789abcdef';
const BYTES_MAX = 20 * 1_048_576;

const errors = (status: number, code: string, message: string, description?: string): ApiAnswer => ({
  status,
  body: { errors: [{ message, code, ...(description !== undefined && { description }) }] },
});
const ACTIVE: ApiAnswer = {
  status: 200,
  body: { results: { customer_id: 102938, company_name: 'Example Inc', status: 'active' } },
};

/** `account`: its answer about the account. */
export function startSparkPostVendor({ account = ACTIVE }: { account?: ApiAnswer } = {}): Promise<ApiVendor> {
  const sendingDomains = domains();
  return startApiVendor({
    settings: (endpoint) => ({ api_key: SPARKPOST_KEY, endpoint, webhook_key: SPARKPOST_WEBHOOK_KEY }),
    refusalOf: ({ headers }) =>
      headers.authorization === SPARKPOST_KEY
        ? undefined
        : { status: 401, body: { errors: [{ message: 'Unauthorized.' }] } },
    isSend: ({ method, path }) => method === 'POST' && path === '/api/v1/transmissions',
    messageOf,
    accepted: ({ id }) => ({
      status: 200,
      body: { results: { total_rejected_recipients: 0, total_accepted_recipients: 1, id } },
    }),
    idOf: (number) => String(11_668_787_484_950_000 + number),
    other: (request) =>
      request.method === 'GET' && request.path === '/api/v1/account' && request.query.get('include') === 'usage'
        ? account
        : sendingDomains(request),
    refuses: errors(
      400,
      '1902',
      'Message generation rejected',
      'recipient address was suppressed due to system policy',
    ),
    defers: errors(429, '1610', 'Too many requests'),
  });
}

/** The sending domains of the account: one that is verified, and those that are added. */
function domains(): (request: ApiRequest) => ApiAnswer {
  const known = new Map([['house.test', true]]);
  const dkim = { public: 'MIGfMA0', selector: 'scph0316', headers: 'from:to:subject:date' };
  const statusOf = (name: string) => ({
    ownership_verified: known.get(name),
    dkim_status: known.get(name) ? 'valid' : 'unverified',
    compliance_status: 'valid',
  });
  return ({ method, path, body }) => {
    const [whole, name, verb] = /^\/api\/v1\/sending-domains(?:\/([^/]+)(\/verify)?)?$/.exec(path) ?? [];
    if (whole !== undefined && name === undefined && method === 'GET')
      return {
        status: 200,
        body: { results: [...known.keys()].map((domain) => ({ domain, status: statusOf(domain) })) },
      };
    if (whole !== undefined && name === undefined && method === 'POST') {
      const domain = String(JSON.parse(body.toString('utf8')).domain);
      if (known.has(domain)) return errors(409, '1602', 'resource conflict');
      known.set(domain, false);
      return { status: 200, body: { results: { message: 'Successfully Created domain.', domain, dkim } } };
    }
    if (name === undefined || !known.has(name)) return errors(404, '1600', 'resource not found');
    if (verb === undefined) return { status: 200, body: { results: { status: statusOf(name), dkim } } };
    if (JSON.parse(body.toString('utf8')).dkim_verify === true) known.set(name, true);
    return { status: 200, body: { results: { ...statusOf(name), dns: { dkim_record: 'v=DKIM1; p=MIGfMA0' } } } };
  };
}

const transmissionShape = z.object({
  options: z
    .object({
      open_tracking: z.boolean(),
      click_tracking: z.boolean(),
      transactional: z.boolean(),
      perform_substitutions: z.boolean(),
    })
    .partial()
    .default({}),
  recipients: z
    .array(
      z.object({
        address: z.object({ email: z.email() }),
        metadata: z.record(z.string(), z.unknown()).optional(),
        substitution_data: z.record(z.string(), z.string()).optional(),
      }),
    )
    .min(1),
  content: z.object({ email_rfc822: z.string().min(1) }),
});

function messageOf({ headers, body }: ApiRequest): { to: string; content: string } | ApiAnswer {
  if (headers['content-type'] !== 'application/json') return errors(415, '1300', 'unsupported media type');
  const parsed = transmissionShape.safeParse(JSON.parse(body.toString('utf8')));
  if (!parsed.success) return errors(422, '1300', 'invalid data format/type', parsed.error.issues[0]?.path.join('.'));
  const { options, recipients, content } = parsed.data;
  if (Buffer.byteLength(content.email_rfc822) > BYTES_MAX) return errors(413, '1300', 'content is too large');
  const [recipient] = recipients;
  const values = recipient?.substitution_data ?? {};
  const end = content.email_rfc822.indexOf('\r\n\r\n');
  const top = filled(content.email_rfc822.slice(0, end), values);
  const rest = content.email_rfc822.slice(end);
  const own = options.transactional === true ? top : withOwnUnsubscribe(top);
  return {
    to: recipient?.address.email ?? '',
    content: own + (options.perform_substitutions === false ? rest : filled(rest, values)),
  };
}

/** Its template language, as far as names go: what is not there is empty. */
function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{\{?\s*([^{}]*?)\s*\}\}\}?/g, (_whole, name: string) => values[name] ?? '');
}

function withOwnUnsubscribe(headers: string): string {
  return headers.replace(/^List-Unsubscribe: [^]*?\r\n(?! )/im, 'List-Unsubscribe: <mailto:its-own@unsub.test>\r\n');
}

/** A request as SparkPost posts it: events in their families, to the address that was entered. */
export function sparkPostReport(
  events: readonly unknown[],
  { key = SPARKPOST_WEBHOOK_KEY }: { key?: string } = {},
): WebhookRequest {
  return {
    method: 'POST',
    headers: { 'x-messagesystems-batch-id': 'b1', 'content-type': 'application/json' },
    query: { key },
    body: Buffer.from(JSON.stringify(events)),
    receivedAt: new Date(),
  };
}
