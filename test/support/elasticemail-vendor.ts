/**
 * Elastic Email as its documents describe it. The shapes are those of `@elasticemail/elasticemail-client` 4.0.26, which is generated from the vendor's
 * OpenAPI file (EmailTransactionalMessageData, EmailContent, BodyPart, MessageAttachment, Options, EmailSend, DomainDetail, DomainPayload, DomainData).
 */
import { z } from 'zod';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { startApiVendor, type ApiAnswer, type ApiRequest, type ApiVendor } from './api-vendor.ts';

export const ELASTIC_KEY = 'key-of-the-account';
export const ELASTIC_WEBHOOK_KEY = 'fedcba9876543210fedcba9876543210';

const attachment = z.strictObject({
  ...{ Name: z.string().min(1), ContentType: z.string(), Size: z.int() },
  BinaryContent: z.base64(),
});
export const elasticBody = z.strictObject({
  Recipients: z.strictObject({ To: z.array(z.string()).length(1) }),
  Content: z.strictObject({
    ...{ From: z.string().min(3), ReplyTo: z.string().optional(), Subject: z.string() },
    Body: z
      .array(z.strictObject({ ContentType: z.enum(['HTML', 'PlainText']), Charset: z.string(), Content: z.string() }))
      .min(1),
    Merge: z.record(z.string(), z.string()).optional(),
    Headers: z.record(z.string(), z.string()),
    Postback: z.string(),
    Attachments: z.array(attachment).optional(),
  }),
  Options: z.strictObject({ TrackOpens: z.boolean(), TrackClicks: z.boolean() }),
});
export type ElasticBody = z.output<typeof elasticBody>;

export function elasticError(status: number, text: string): ApiAnswer {
  return { status, body: { Error: text } };
}

export interface ElasticVendor extends ApiVendor {
  /** The answer to questions for the domains from now on. */
  domainsAre(answer: ApiAnswer): void;
}

export async function startElasticVendor(): Promise<ElasticVendor> {
  let domains: ApiAnswer | undefined;
  const aboutDomains = knownDomains();
  const vendor = await startApiVendor({
    settings: (endpoint) => ({ api_key: ELASTIC_KEY, endpoint, webhook_key: ELASTIC_WEBHOOK_KEY }),
    refusalOf: ({ headers }) =>
      headers['x-elasticemail-apikey'] === ELASTIC_KEY ? undefined : elasticError(401, 'Incorrect API key'),
    isSend: ({ method, path }) => method === 'POST' && path === '/v4/emails/transactional',
    messageOf,
    accepted: ({ id }) => ({ status: 200, body: { TransactionID: `t-${id}`, MessageID: id } }),
    idOf: (number) => `message-id-${number}`,
    other: (request) =>
      (request.method === 'GET' && request.path === '/v4/domains' ? domains : undefined) ?? aboutDomains(request),
    refuses: elasticError(400, 'Invalid recipient'),
    defers: { status: 429, headers: { 'Retry-After': '2' }, body: { Error: 'Too many requests' } },
  });
  return { ...vendor, domainsAre: (answer) => void (domains = answer) };
}

const addedDomain = z.strictObject({ Domain: z.string().min(1), SetAsDefault: z.boolean().optional() });

/** The domains of the account: one that is verified, and those that are added. SPF of these is found at the first look, DKIM at the second. */
function knownDomains(): (request: ApiRequest) => ApiAnswer {
  const looks = new Map([['house.test', 2]]);
  const detailOf = (name: string) => {
    const seen = looks.get(name) ?? 0;
    return { Domain: name, DefaultDomain: false, Spf: seen > 0, Dkim: seen > 1, MX: false, Verify: seen < 2 };
  };
  return ({ method, path, body, headers }) => {
    const isJson = headers['content-type'] === 'application/json';
    if (path === '/v4/domains' && method === 'GET') return { status: 200, body: [...looks.keys()].map(detailOf) };
    if (path === '/v4/domains' && method === 'POST' && isJson) {
      const { Domain: added } = addedDomain.parse(JSON.parse(body.toString('utf8')));
      if (looks.has(added)) return elasticError(400, 'Domain already exists');
      looks.set(added, 0);
      return { status: 201, body: detailOf(added) };
    }
    const [, name = ''] = /^\/v4\/domains\/([^/]+)\/verification$/.exec(path) ?? [];
    if (method !== 'PUT' || !isJson || !looks.has(name)) return elasticError(404, 'Domain not found');
    if (typeof JSON.parse(body.toString('utf8')) !== 'string') return elasticError(400, 'Wrong tracking type');
    looks.set(name, (looks.get(name) ?? 0) + 1);
    return { status: 200, body: { ...detailOf(name), ValidationLog: '' } };
  };
}

function messageOf({ headers, body }: ApiRequest): { to: string; content: string } | ApiAnswer {
  if (headers['content-type'] !== 'application/json') return elasticError(415, 'JSON only');
  const parsed = elasticBody.safeParse(JSON.parse(body.toString('utf8')));
  if (!parsed.success) return elasticError(400, `Wrong field ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
  const { Content: content, Recipients: recipients } = parsed.data;
  const [to = ''] = recipients.To;
  const lines = [['Subject', merged(content.Subject, content.Merge)], ...Object.entries(content.Headers)];
  return {
    to: /<([^<>]*)>$/.exec(to)?.[1] ?? to,
    content: [
      ...lines.map(([name, value]) => `${name}: ${value}`),
      '',
      ...content.Body.map((part) => merged(part.Content, content.Merge)),
    ].join('\r\n'),
  };
}

/** Its merge fields; nothing for names that it does not know. */
function merged(text: string, fields: Readonly<Record<string, string>> = {}): string {
  return text.replace(/\{([A-Za-z][\w.:|-]*)\}/g, (_all, name: string) => fields[name] ?? '');
}

/** A request as Elastic Email makes it: by GET, or by POST where a JSON object is given. */
export function elasticReport(
  query: Readonly<Record<string, string>>,
  { key = ELASTIC_WEBHOOK_KEY, posted }: { key?: string; posted?: object | string } = {},
): WebhookRequest {
  const body = Buffer.from(posted === undefined ? '' : typeof posted === 'string' ? posted : JSON.stringify(posted));
  const method = posted === undefined ? 'GET' : 'POST';
  return { method, headers: {}, query: { key, ...query }, body, receivedAt: new Date() };
}
