/**
 * The link that logs a person in once (decision D13). Following it is enough. Programs that look for links in mails must not use
 * it up: HEAD and OPTIONS change nothing, and what looks like a program gets a page with a button instead.
 */
import { LOGIN_LINK_PATH, useLoginLink } from '../domain/accounts/login-link.ts';
import { ownPath } from '../domain/accounts/own-path.ts';
import { sessionCookie } from '../domain/accounts/session-cookie.ts';
import type { Context } from '../domain/context.ts';
import { html } from '../lib/html.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { sendBodyTooLarge } from './notices.ts';
import { sendPage, setPublicHeaders } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import { readForm } from './read-form.ts';

/** `/login/token/<token>`. */
export function loginLinkMount(ctx: Context): InboundMount {
  return linkMount(ctx, {
    prefix: LOGIN_LINK_PATH,
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const { method, res, visitor } = request;
      if (method === 'POST') return (await readForm(request.req)) ? logIn(request) : sendBodyTooLarge(res);
      if (method === 'HEAD' || visitor.isMachine) return sendButtonPage(res);
      return logIn(request);
    },
  });
}

async function logIn({ ctx, req, res, token }: LinkRequest): Promise<void> {
  const used = await useLoginLink(ctx, token);
  if (!used) return sendOver(res);
  const { baseUrl } = ctx.installation;
  setPublicHeaders(res);
  // Anybody may have changed the link: only a path of our own pages is followed.
  const next = ownPath(queryOf(req.url ?? '').get('next') ?? '/', baseUrl) ?? '/';
  res.writeHead(303, { Location: `${baseUrl}${next}`, 'Set-Cookie': sessionCookie(baseUrl, used.session) });
  res.end();
}

function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start));
}

/** Does not say whether the link still works: asking must not be a way to find out. */
function sendButtonPage(res: LinkRequest['res']): void {
  const words = wordsOfReader(res.req);
  sendPage(res, 200, {
    words,
    title: words.text('login.title'),
    body: html`<p>${words.text('login.text')}</p>
<form method="post">
<button type="submit">${words.text('login.button')}</button>
</form>`,
  });
}

function sendOver(res: LinkRequest['res']): void {
  const words = wordsOfReader(res.req);
  sendPage(res, 404, {
    words,
    title: words.text('login.over.title'),
    body: html`<p>${words.text('login.over.text')}</p>`,
  });
}
