/**
 * The message as a page. Its html is the customer's and is treated as hostile: a sandbox without scripts, forms or
 * our origin.
 */
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { createGate } from '../lib/gate.ts';
import { linkMount, type InboundMount } from './link-request.ts';
import { sendBusy, sendMessageGone, sendUnknownLink } from './notices.ts';
import { sendHtml } from './page.ts';

/** The message of one recipient as html, or undefined when the campaign or the person is gone. */
export type WebView = (ctx: Context, recipient: TrackedRecipient) => Promise<string | undefined>;

const CAGE =
  'sandbox allow-popups allow-popups-to-escape-sandbox; ' +
  "default-src 'none'; img-src https: http: data:; media-src https: http:; font-src https: http: data:; " +
  "style-src 'unsafe-inline' https: http:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/** Composing a message takes the main thread for as long as the message is large: readers of one address wait in turn. */
const GATE = { runningMax: 1, totalMax: 2, waitingMax: 200 };

/** `/view/<token>`. */
export function webViewMount(ctx: Context, webView: WebView): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  const gate = createGate(GATE);
  return linkMount(ctx, {
    prefix: '/view',
    methods: ['GET', 'HEAD'],
    async serve({ ctx: publicCtx, res, token }) {
      const recipient = signer.read('webView', token);
      if (!recipient) return sendUnknownLink(res);
      const composed = await gate.pass(publicCtx.ipAddress ?? '', async () =>
        // Who has gone meanwhile is not composed for.
        res.destroyed ? undefined : webView(publicCtx, recipient),
      );
      if (!composed) return sendBusy(res);
      const page = composed.result;
      if (page === undefined) return sendMessageGone(res);
      res.setHeader('Content-Security-Policy', CAGE);
      sendHtml(res, 200, page);
    },
  });
}
