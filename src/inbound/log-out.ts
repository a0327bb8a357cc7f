/**
 * Logging out of a browser's session: GET asks, POST does it and takes the cookie away. A form of another site does not
 * log anybody out: the browser keeps the cookie back (`SameSite=Lax`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { authenticateToken } from '../domain/accounts/authenticate-token.ts';
import { insertAuditEntries } from '../domain/accounts/audit-trail.ts';
import { logOut } from '../domain/accounts/log-out.ts';
import { noSessionCookie, sessionIn } from '../domain/accounts/session-cookie.ts';
import type { Context } from '../domain/context.ts';
import { html } from '../lib/html.ts';
import type { Caller, InboundMount } from './link-request.ts';
import { sendBodyTooLarge } from './notices.ts';
import { sendPage, setPublicHeaders } from './page.ts';
import { readForm } from './read-form.ts';

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
  const text = sessionIn(req.headers.cookie, baseUrl);
  const ipAddress = caller.ipAddress === '' ? null : caller.ipAddress;
  const found = text ? await authenticateToken(ctx.database, { text, isSession: true, ipAddress }) : null;
  if (found) {
    const { viewer } = found;
    await logOut({ ...ctx, viewer, ipAddress });
    await insertAuditEntries(ctx.db, [
      {
        ...{ customerId: viewer.customerId, actor: viewer, operation: 'logOut' },
        ...{ targetUid: viewer.tokenUid, fields: [], door: 'page', ipAddress },
      },
    ]);
  }
  res.setHeader('Set-Cookie', noSessionCookie(baseUrl));
  sendPage(res, 200, {
    title: 'You are logged out',
    body: html`<p role="status">Close this page, or log in again.</p>`,
  });
}
