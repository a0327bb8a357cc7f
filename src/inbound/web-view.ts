/**
 * The message as a page. Its html is the customer's and is treated as hostile: a sandbox without scripts, forms or
 * our origin.
 */
import type { DisabledCustomers } from '../domain/accounts/disabled-customers.ts';
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts';
import { linkMount, type InboundMount } from './link-request.ts';
import { sendBusy, sendMessageGone, sendStoppedLink, sendUnknownLink } from './notices.ts';
import { sendHtml } from './page.ts';

/** The message of one recipient as html, or undefined when the campaign or the person is gone. */
export type WebView = (ctx: Context, recipient: TrackedRecipient) => Promise<string | undefined>;

const CAGE =
  'sandbox allow-popups allow-popups-to-escape-sandbox; ' +
  "default-src 'none'; img-src https: http: data:; media-src https: http:; font-src https: http: data:; " +
  "style-src 'unsafe-inline' https: http:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Composing a message blocks the main thread for as long as the message is large: requests for one address wait for each other.
 */
const COMPOSING = { runningMax: 2, runningPerKeyMax: 1, waitingPerKeyMax: 200 };

/** `/view/<token>`. */
export function webViewMount(ctx: Context, webView: WebView, disabled: DisabledCustomers): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  const composing = createConcurrencyLimit(COMPOSING);
  return linkMount(ctx, {
    prefix: '/view',
    methods: ['GET', 'HEAD'],
    async serve({ ctx: publicCtx, res, token }) {
      const recipient = signer.read('webView', token);
      if (!recipient) return sendUnknownLink(res);
      if (disabled.has(recipient.customerId)) return sendStoppedLink(res);
      const address = publicCtx.ipAddress ?? '';
      if (composing.isFull(address)) return sendBusy(res);
      // Not composed for readers who disconnected meanwhile.
      const page = await composing.run(
        async () => (res.destroyed ? undefined : webView(publicCtx, recipient)),
        address,
      );
      if (page === undefined) return sendMessageGone(res);
      res.setHeader('Content-Security-Policy', CAGE);
      sendHtml(res, 200, page);
    },
  });
}
