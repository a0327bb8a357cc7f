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
import { readForm } from './read-form.ts';

const DONE: Page = {
  title: 'You are logged out',
  body: html`<p role="status">Close this page, or log in again.</p>`,
};
const NOT_FROM_HERE: Page = {
  title: 'You are still logged in',
  body: html`<p>This request did not come from a page of this installation. Open <a href="/logout">the page</a> and press its button.</p>`,
};
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
      sendPage(res, 200, {
        title: 'Log out?',
        body: html`<form method="post"><button type="submit">Log out</button></form>`,
      });
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
  const { baseUrl } = ctx.installation;
  const text = sessionOf(req.headers, baseUrl);
  const ipAddress = caller.ipAddress === '' ? null : caller.ipAddress;
  const found = text ? await authenticateToken(ctx, { text, isSession: true, ipAddress }) : null;
  // The page says "logged out" only if the session has ended.
  if (text === undefined && req.headers.cookie?.includes('mailwright_session='))
    return sendPage(res, 403, NOT_FROM_HERE);
  if (!found) return sendPage(res, 200, DONE);
  const { viewer } = found;
  const asking = { ipAddress, client: programOf(req.headers['user-agent']), entryPoint: 'page' as const };
  const entry = { operation: 'logOut', actor: viewer, fields: [], ...asking };
  const change: Change = { write: (tx, about) => insertAuditEntries(tx, [{ ...entry, ...about }]) };
  await logOut({ ...ctx, ...asking, viewer, change });
  const { tokenUid, tokenKind } = viewer;
  ctx.securityEvents?.note(asking, { kind: 'changed', operation: 'logOut', account: viewer, tokenUid, tokenKind });
  res.setHeader('Set-Cookie', noSessionCookie(baseUrl));
  sendPage(res, 200, DONE);
}
