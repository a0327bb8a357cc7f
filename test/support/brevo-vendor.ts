/**
 * Brevo as its documents describe it (developers.brevo.com: "Send a transactional email", "Transactional webhooks", "Get your account"; there is
 * no public OpenAPI file): fields, its template language, answers, limits. What it does to headers is from the notes of django-anymail.
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
  const vendor = await startApiVendor({
    settings: (endpoint) => ({ api_key: BREVO_KEY, endpoint, webhook_key: BREVO_WEBHOOK_KEY }),
    refusalOf: ({ headers }) =>
      headers['api-key'] === BREVO_KEY ? undefined : brevoError(401, 'unauthorized', 'Key not found'),
    isSend: ({ method, path }) => method === 'POST' && path === '/v3/smtp/email',
    messageOf,
    accepted: ({ id }) => ({ status: 201, body: { messageId: `<${id}>` } }),
    idOf: (number) => `202611271300.${number}@smtp-relay.mailin.fr`,
    other: ({ method, path }) =>
      method === 'GET' && path === '/v3/account'
        ? { status: 200, body: { email: 'house@house.test', ...account } }
        : brevoError(404, 'document_not_found', 'Not found'),
    refuses: brevoError(400, 'invalid_parameter', 'email is not valid in to'),
    defers: {
      status: 429,
      headers: { 'Content-Type': 'application/json', 'x-sib-ratelimit-limit': '1000', 'x-sib-ratelimit-reset': '2' },
      body: { code: 'too_many_requests', message: 'API rate limit exceeded' },
    },
  });
  return { ...vendor, accountIs: (next) => void (account = next) };
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
