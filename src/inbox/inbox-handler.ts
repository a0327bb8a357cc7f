/** The inbox over HTTP: pages under `/inbox`, JSON under `/inbox/messages`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Mount } from '../http/http-server.ts';
import { isLocalCaller, isSameOrigin } from './inbox-access.ts';
import { listPage, MAIL_POLICY, messagePage, noticePage, PAGE_POLICY, TABS, type Tab } from './inbox-pages.ts';
import type { InboxEntry, InboxStore, PageQuery } from './inbox-store.ts';
import { createMailOpener, type MailOpener, type OpenedMail } from './opened-mail.ts';

const PAGE_SIZE = 50;
/** What one answer may hold of a list. */
const PAGE_SIZE_MAX = 200;
/** Longer than any address. */
const SEARCH_LENGTH_MAX = 320;
const ID = /^[1-9]\d{0,14}$/;
const MESSAGE_PATH = /^\/inbox\/([1-9]\d{0,14})(?:\/(html|text|source))?$/;
const JSON_MESSAGE_PATH = /^\/inbox\/messages\/([1-9]\d{0,14})$/;

const FOR_ADMINISTRATORS =
  'From another machine, or through a proxy, the inbox is for administrators, and you are not logged in here.';
const NOT_ADMINISTRATOR =
  'You are logged in, but the inbox is for administrators, and your account is not one. Log out at /logout first.';
const HOW_TO_LOG_IN =
  "In a browser: get a login link by POST /api/v1/login-token with an administrator's API token, open the link in this browser, and then open /inbox again.";
const FOR_PROGRAMS = "A program sends an administrator's API token as Authorization: Bearer.";

/** Rights of a caller from another machine. */
export type InboxRights = 'administrator' | 'notAdministrator' | 'unknown';

export interface InboxHandlerOptions {
  readonly store: InboxStore;
  /** Called for callers from other machines; `ipAddress` is the client's, also behind a trusted proxy. */
  rightsOf(req: IncomingMessage, caller: { readonly ipAddress: string }): InboxRights | Promise<InboxRights>;
}

interface Answer {
  readonly status: number;
  readonly type: 'text/html' | 'text/plain' | 'application/json';
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Inbox {
  readonly store: InboxStore;
  /** A mail that cannot be shown in the requested form has no answer. */
  readonly opener: MailOpener<Answer | undefined>;
}

/** The mount that answers everything under `/inbox`. */
export function inboxMount(options: InboxHandlerOptions): Mount {
  const { store } = options;
  const inbox: Inbox = { store, opener: createMailOpener(store) };
  return {
    prefix: '/inbox',
    async handle(req, res, { ipAddress }) {
      const url = new URL(req.url ?? '/', 'http://inbox.invalid');
      const isJson = url.pathname.startsWith('/inbox/messages');
      const rights = isLocalCaller(req) ? 'administrator' : await options.rightsOf(req, { ipAddress });
      const answer = rights === 'administrator' ? await answerTo(req, url, inbox) : whatToDo(isJson, rights);
      send(res, answer ?? refusal(isJson, 404, 'There is no such mail or page in the inbox.'));
    },
  };
}

async function answerTo(req: IncomingMessage, url: URL, inbox: Inbox): Promise<Answer | undefined> {
  const path = url.pathname.replace(/(.)\/$/, '$1');
  if (req.method === 'GET' || req.method === 'HEAD') return read(path, url.searchParams, inbox);
  const isDelete = req.method === 'DELETE' && path === '/inbox/messages';
  const isForm = req.method === 'POST' && path === '/inbox/clear';
  if (!isDelete && !isForm)
    return refusal(
      path.startsWith('/inbox/messages'),
      405,
      'The inbox is read by GET, and emptied by DELETE /inbox/messages.',
    );
  if (!isSameOrigin(req)) return refusal(isDelete, 403, 'The inbox can be emptied from its own pages only.');
  await inbox.store.clear();
  if (isDelete) return json(200, { message: 'The inbox is empty.' });
  return { status: 303, type: 'text/plain', body: Buffer.alloc(0), headers: { Location: '/inbox' } };
}

async function read(path: string, search: URLSearchParams, { store, opener }: Inbox): Promise<Answer | undefined> {
  if (path === '/inbox') return list(search, store);
  if (path === '/inbox/messages') return listJson(search, store);
  const jsonId = JSON_MESSAGE_PATH.exec(path)?.[1];
  if (jsonId !== undefined) return opener.answerOf(Number(jsonId), 'json', mailJson);
  const [, id, part] = MESSAGE_PATH.exec(path) ?? [];
  if (id === undefined) return undefined;
  if (part !== undefined) return opener.answerOf(Number(id), part, (mail) => partOf(mail, part));
  const tab = TABS.find((name) => name === search.get('tab'));
  return opener.answerOf(Number(id), `tab ${tab}`, (mail) => showMail(mail, tab));
}

async function list(search: URLSearchParams, store: InboxStore): Promise<Answer> {
  const query = { ...queryOf(search), limit: PAGE_SIZE };
  return page(200, listPage(await store.page(query), query.to ?? ''));
}

async function listJson(search: URLSearchParams, store: InboxStore): Promise<Answer> {
  const limit = search.get('limit') ?? String(PAGE_SIZE);
  if (!ID.test(limit) || Number(limit) > PAGE_SIZE_MAX)
    return json(422, { message: `limit must be a number from 1 to ${PAGE_SIZE_MAX}.` });
  const { entries, hasOlder } = await store.page({ ...queryOf(search), limit: Number(limit) });
  return json(200, { messages: entries.map(entryJson), next_before: hasOlder ? (entries.at(-1)?.id ?? null) : null });
}

/** An invalid id is ignored: an address typed by hand still shows the newest page. */
function queryOf(search: URLSearchParams): Omit<PageQuery, 'limit'> {
  const [before, after] = [search.get('before') ?? '', search.get('after') ?? ''];
  const to = (search.get('to') ?? '').replaceAll('\0', '').trim().slice(0, SEARCH_LENGTH_MAX);
  return {
    ...(ID.test(before) ? { before: Number(before) } : ID.test(after) ? { after: Number(after) } : {}),
    ...(to === '' ? {} : { to }),
  };
}

function entryJson({ id, mailFrom, rcptTo, subject, size, receivedAt }: InboxEntry): Record<string, unknown> {
  return { id, mail_from: mailFrom, to: rcptTo, subject, size, received_at: receivedAt };
}

function mailJson({ entry, parsed }: OpenedMail): Answer {
  const { from, subject, headers, html, text, links, attachments } = parsed;
  return json(200, { ...entryJson(entry), from, subject, headers, html, text, links, attachments });
}

function showMail(mail: OpenedMail, tab: Tab | undefined): Answer {
  return page(200, messagePage(mail, tab ?? (mail.parsed.html === null ? 'text' : 'html')));
}

function partOf({ raw, parsed: { html, text } }: OpenedMail, part: string): Answer | undefined {
  if (part === 'source') return { status: 200, type: 'text/plain', body: raw };
  if (part === 'text') return text === null ? undefined : { status: 200, type: 'text/plain', body: Buffer.from(text) };
  return html === null
    ? undefined
    : {
        status: 200,
        type: 'text/html',
        body: Buffer.from(html),
        headers: { 'Content-Security-Policy': MAIL_POLICY, 'X-Frame-Options': 'SAMEORIGIN' },
      };
}

/** Without a `WWW-Authenticate` scheme for which browsers ask a password: their dialog would hide the instructions. */
function whatToDo(isJson: boolean, rights: Exclude<InboxRights, 'administrator'>): Answer {
  if (rights === 'notAdministrator') return refusal(isJson, 403, NOT_ADMINISTRATOR, HOW_TO_LOG_IN);
  const { headers, ...answer } = refusal(isJson, 401, FOR_ADMINISTRATORS, HOW_TO_LOG_IN, FOR_PROGRAMS);
  return { ...answer, headers: { ...headers, 'WWW-Authenticate': 'Bearer' } };
}

function refusal(isJson: boolean, status: number, ...sentences: readonly string[]): Answer {
  return isJson ? json(status, { message: sentences.join(' ') }) : page(status, noticePage('Inbox', sentences));
}

function page(status: number, body: string): Answer {
  // under `no-referrer` a browser sends `Origin: null` with our own form
  const headers = { 'Content-Security-Policy': PAGE_POLICY, 'Referrer-Policy': 'same-origin' };
  return { status, type: 'text/html', body: Buffer.from(body), headers };
}

function json(status: number, value: unknown): Answer {
  return { status, type: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}

function send(res: ServerResponse, { status, type, body, headers }: Answer): void {
  res.writeHead(status, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': body.length,
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...headers,
  });
  res.end(body);
}
