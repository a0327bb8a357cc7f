/**
 * Logging out of a browser's session: GET shows a button, POST logs out and deletes the cookie. A form of another site, also of a
 * sibling subdomain, logs nobody out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { authenticateToken } from '../domain/accounts/authenticate-token.ts';
import { insertAuditEntries } from '../domain/accounts/audit-store.ts';
import { logOut } from '../domain/accounts/log-out.ts';
import { noSessionCookie, sessionOf } from '../domain/accounts/session-cookie.ts';
import type { Change, Context } from '../domain/context.ts';
import { html } from '../lib/html.ts';
import { programOf } from '../lib/user-agent.ts';
import type { Caller, InboundMount } from './link-request.ts';
import { sendBodyTooLarge } from './notices.ts';
import { sendPage, setPublicHeaders, type Page } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import { readForm } from './read-form.ts';
import type { Words } from './words.ts';

const METHODS = ['GET', 'HEAD', 'POST'];

/** `/logout`. */
export function logOutMount(ctx: Context): InboundMount {
  return {
    prefix: '/logout',
    async handle(req, res, caller) {
      const method = req.method ?? 'GET';
      if (!METHODS.includes(method)) {
        setPublicHeaders(res);
        res.writeHead(method === 'OPTIONS' ? 204 : 405, { Allow: [...METHODS, 'OPTIONS'].join(', ') });
        return void res.end();
      }
      if (method === 'POST') return end(ctx, { req, res, caller });
      sendPage(res, 200, buttonPage(wordsOfReader(req)));
    },
  };
}

interface LogOutRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly caller: Caller;
}

async function end(ctx: Context, { req, res, caller }: LogOutRequest): Promise<void> {
  if (!(await readForm(req))) return sendBodyTooLarge(res);
  const words = wordsOfReader(req);
  const { baseUrl } = ctx.installation;
  const text = sessionOf(req.headers, baseUrl);
  const ipAddress = caller.ipAddress === '' ? null : caller.ipAddress;
  const found = text ? await authenticateToken(ctx, { text, isSession: true, ipAddress }) : null;
  // The page says "logged out" only if the session has ended.
  if (text === undefined && req.headers.cookie?.includes('mailwright_session='))
    return sendPage(res, 403, foreignPage(words));
  if (!found) return sendPage(res, 200, donePage(words));
  const { viewer } = found;
  const asking = { ipAddress, client: programOf(req.headers['user-agent']), entryPoint: 'page' as const };
  const entry = { operation: 'logOut', actor: viewer, fields: [], ...asking };
  const change: Change = { write: (tx, about) => insertAuditEntries(tx, [{ ...entry, ...about }]) };
  await logOut({ ...ctx, ...asking, viewer, change });
  const { tokenUid, tokenKind } = viewer;
  ctx.securityEvents?.note(asking, { kind: 'changed', operation: 'logOut', account: viewer, tokenUid, tokenKind });
  res.setHeader('Set-Cookie', noSessionCookie(baseUrl));
  sendPage(res, 200, donePage(words));
}

function buttonPage(words: Words): Page {
  const button = html`<button type="submit">${words.text('logout.button')}</button>`;
  return { words, title: words.text('logout.title'), body: html`<form method="post">${button}</form>` };
}

function donePage(words: Words): Page {
  return {
    words,
    title: words.text('logout.done.title'),
    body: html`<p role="status">${words.text('logout.done.text')}</p>`,
  };
}

/** The link leads to this page itself, whatever path a proxy has in front of ours. */
function foreignPage(words: Words): Page {
  return {
    words,
    title: words.text('logout.foreign.title'),
    body: html`<p>${words.text('logout.foreign.text')}</p>
<p><a href="?">${words.text('logout.foreign.link')}</a></p>`,
  };
}
