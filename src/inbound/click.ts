/** A tracked link: redirects to the address its author wrote, and to no other. Nothing is read from the database. */
import type { ServerResponse } from 'node:http';
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import { linkMount, tokenOf, visitorOf, type InboundMount } from './link-request.ts';
import { sendNowhere, sendStoppedLink, sendUnknownLink } from './notices.ts';
import { PUBLIC_HEADERS, setPublicHeaders } from './page.ts';
import type { TrackingMeans } from './tracking-means.ts';

const ALWAYS = PUBLIC_HEADERS.flat();

/** `/c/<token>`. Redirects when the click is committed; after two seconds, or if that fails, also without (answer-deadline.ts). */
export function clickMount(ctx: Context, { recorder, deadline, places, disabled }: TrackingMeans): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  const mount = linkMount(ctx, {
    prefix: '/c',
    methods: ['GET', 'HEAD'],
    places,
    async serve({ res, token, visitor }) {
      const click = signer.readClick(token);
      if (!click) return signer.leadsNowhere(token) ? sendNowhere(res) : sendUnknownLink(res);
      if (disabled.has(click.customerId)) return sendStoppedLink(res);
      setPublicHeaders(res);
      deadline.wait(recorder.click(click, visitor), (more) => redirect(res, click.url, more));
    },
  });
  return {
    ...mount,
    fast(req, ipAddress, answer) {
      const click = signer.readClick(tokenOf(req, '/c'));
      if (!click || disabled.has(click.customerId)) return false;
      deadline.wait(recorder.click(click, visitorOf(req, ipAddress, places)), (more) =>
        answer({ status: 302, headers: [...ALWAYS, ...more, 'Location', click.url], body: '' }),
      );
      return true;
    },
  };
}

function redirect(res: ServerResponse, url: string, head: readonly string[]): void {
  res.writeHead(302, [...head, 'Location', url, 'Content-Length', '0']);
  res.end();
}
