/**
 * Brevo as its documents describe it (developers.brevo.com: "Send a transactional email", "Transactional webhooks", "Get your account"; there is
 * no public OpenAPI file; domains and senders are those of `@getbrevo/brevo` 2.5.0): fields, its template language, answers, limits. What it does to headers is from the notes of django-anymail.
 */
import { z } from 'zod';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { startApiVendor, type ApiAnswer, type ApiRequest, type ApiVendor } from './api-vendor.ts';

export const BREVO_KEY = 'xkeysib-of-the-account';
export const BREVO_WEBHOOK_KEY = '0123456789abcdef0123456789abcdef';

const person = z.object({ email: z.string().min(3), name: z.string().min(1).max(70).optional() });
/** What a request to send may have, and nothing else that we know of. */
export const brevoBody = z.strictObject({
  sender: person,
  to: z.array(person).length(1),
  replyTo: person.optional(),
  subject: z.string().min(1),
  htmlContent: z.string().min(1),
  textContent: z.string().optional(),
  params: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()),
  attachment: z.array(z.object({ name: z.string().min(1), content: z.base64() })).optional(),
});
export type BrevoBody = z.output<typeof brevoBody>;

/** Endings of the document, those that tests use. */
const ENDINGS = /\.(?:csv|pdf|txt|gif|jpg|jpeg|png|html|htm|zip|ics)$/i;

export function brevoError(status: number, code: string, message: string): ApiAnswer {
  return { status, body: { code, message } };
}

export interface BrevoVendor extends ApiVendor {
  /** The answer to questions for the account from now on. */
  accountIs(account: object): void;
}

export const BREVO_ACCOUNT = {
  relay: { enabled: true },
  plan: [{ type: 'free', credits: 300, creditsType: 'sendLimit' }],
};

export async function startBrevoVendor(): Promise<BrevoVendor> {
  let account: object = BREVO_ACCOUNT;
  const aboutSenders = senders();
  const vendor = await startApiVendor({
    settings: (endpoint) => ({ api_key: BREVO_KEY, endpoint, webhook_key: BREVO_WEBHOOK_KEY }),
    refusalOf: ({ headers }) =>
      headers['api-key'] === BREVO_KEY ? undefined : brevoError(401, 'unauthorized', 'Key not found'),
    isSend: ({ method, path }) => method === 'POST' && path === '/v3/smtp/email',
    messageOf,
    accepted: ({ id }) => ({ status: 201, body: { messageId: `<${id}>` } }),
    idOf: (number) => `202611271300.${number}@smtp-relay.mailin.fr`,
    other: (request) =>
      request.method === 'GET' && request.path === '/v3/account'
        ? { status: 200, body: { email: 'house@house.test', ...account } }
        : aboutSenders(request),
    refuses: brevoError(400, 'invalid_parameter', 'email is not valid in to'),
    defers: {
      status: 429,
      headers: { 'Content-Type': 'application/json', 'x-sib-ratelimit-limit': '1000', 'x-sib-ratelimit-reset': '2' },
      body: { code: 'too_many_requests', message: 'API rate limit exceeded' },
    },
  });
  return { ...vendor, accountIs: (next) => void (account = next) };
}

const NOT_FOUND = brevoError(404, 'document_not_found', 'Not found');
const addedDomain = z.strictObject({ name: z.string().min(1) });
const addedSender = z.strictObject({ name: z.string().min(1), email: z.email() });

/** The senders of the account: a domain and an address that are verified, and those that are added. */
function senders(): (request: ApiRequest) => ApiAnswer {
  const addresses = new Map([['ann@house.test', true]]);
  const aboutDomains = domains();
  return (request) => {
    const { method, path, body } = request;
    if (path !== '/v3/senders') return aboutDomains(request);
    if (method === 'GET') {
      const found = [...addresses].map(([email, active], id) => ({ id, name: 'Ann', email, active }));
      return { status: 200, body: { senders: found } };
    }
    if (method !== 'POST' || request.headers['content-type'] !== 'application/json') return NOT_FOUND;
    const { email } = addedSender.parse(JSON.parse(body.toString('utf8')));
    if (addresses.has(email)) return brevoError(400, 'duplicate_parameter', 'Sender already exists');
    addresses.set(email, email.endsWith('@house.test'));
    return { status: 201, body: { id: addresses.size, spfError: true, dkimError: true } };
  };
}

function domains(): (request: ApiRequest) => ApiAnswer {
  /** How often the vendor has looked: its records are there from the second time on. */
  const looks = new Map([['house.test', 2]]);
  const isThere = (name: string) => (looks.get(name) ?? 0) > 1;
  const recordsOf = (name: string) => ({
    dkim_record: { type: 'TXT', value: 'k=rsa;p=MIGfMA0', host_name: 'mail._domainkey', status: isThere(name) },
    brevo_code: { type: 'TXT', value: 'brevo-code:1a2b', host_name: '@', status: isThere(name) },
    dmarc_record: { type: 'TXT', value: 'v=DMARC1; p=none', host_name: `_dmarc.${name}.`, status: isThere(name) },
  });
  return ({ method, path, body, headers }) => {
    const [whole, name, verb] = /^\/v3\/senders\/domains(?:\/([^/]+)(\/authenticate)?)?$/.exec(path) ?? [];
    if (whole !== undefined && name === undefined && method === 'GET') {
      const found = [...looks.keys()].map((one, id) => ({
        id,
        domain_name: one,
        authenticated: isThere(one),
        verified: isThere(one),
      }));
      return { status: 200, body: { domains: found } };
    }
    if (
      whole !== undefined &&
      name === undefined &&
      method === 'POST' &&
      headers['content-type'] === 'application/json'
    ) {
      const { name: added } = addedDomain.parse(JSON.parse(body.toString('utf8')));
      if (looks.has(added)) return brevoError(400, 'duplicate_parameter', 'Domain already exists');
      looks.set(added, 0);
      return {
        status: 200,
        body: { id: looks.size, domain_name: added, message: 'Domain added', dns_records: recordsOf(added) },
      };
    }
    if (name === undefined || !looks.has(name)) return NOT_FOUND;
    if (verb === undefined && method === 'GET') {
      const state = { verified: isThere(name), authenticated: isThere(name), dns_records: recordsOf(name) };
      return { status: 200, body: { domain: name, ...state } };
    }
    if (verb === undefined || method !== 'PUT') return NOT_FOUND;
    looks.set(name, (looks.get(name) ?? 0) + 1);
    return isThere(name)
      ? { status: 200, body: { domain_name: name, message: 'Domain has been authenticated successfully.' } }
      : brevoError(400, 'invalid_parameter', 'Domain could not be authenticated');
  };
}

function messageOf({ headers, body }: ApiRequest): { to: string; content: string } | ApiAnswer {
  if (headers['content-type'] !== 'application/json') return brevoError(415, 'unsupported_media_type', 'JSON only');
  const parsed = brevoBody.safeParse(JSON.parse(body.toString('utf8')));
  if (!parsed.success) {
    const [key] = parsed.error.issues[0]?.path ?? [];
    return brevoError(400, 'missing_parameter', `${String(key)} is missing`);
  }
  const wrong = parsed.data.attachment?.find(({ name }) => !ENDINGS.test(name));
  if (wrong) return brevoError(400, 'invalid_parameter', `Unsupported file format: ${wrong.name}`);
  const { subject, htmlContent, textContent = '', headers: more, params = {}, to } = parsed.data;
  const lines = [['Subject', rendered(subject, params)], ...Object.entries(more)].map(
    ([name, value]) => `${name}: ${value}`,
  );
  return {
    to: to[0]?.email ?? '',
    content: [...lines, '', rendered(textContent, params), rendered(htmlContent, params)].join('\r\n'),
  };
}

/** Its template language: values of `params`, nothing for names it does not know, no tags, no comments. */
function rendered(text: string, params: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{\s*([^{}]*?)\s*\}\}|\{%[^]*?%\}|\{#[^\n]*?#\}/g, (_all, name: string | undefined) =>
    name?.startsWith('params.') ? (params[name.slice('params.'.length)] ?? '') : '',
  );
}

/** A request as Brevo posts it. */
export function brevoReport(
  posted: object | string,
  { key = BREVO_WEBHOOK_KEY, headers = {} }: { key?: string; headers?: Readonly<Record<string, string>> } = {},
): WebhookRequest {
  const body = Buffer.from(typeof posted === 'string' ? posted : JSON.stringify(posted));
  return { method: 'POST', headers, query: { key }, body, receivedAt: new Date() };
}
