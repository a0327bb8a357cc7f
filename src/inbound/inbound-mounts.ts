/** The handlers of all addresses in mails, ready to be mounted on the web server. */
import { watchDisabledCustomers } from '../domain/accounts/disabled-customers.ts';
import type { Context } from '../domain/context.ts';
import { nowhere, type GeoLocator } from '../domain/tracking/geo-locator.ts';
import { startTrackingEventConsumer } from '../domain/tracking/tracking-event-consumer.ts';
import { createTrackingEventRecorder } from '../domain/tracking/tracking-event-recorder.ts';
import type { CountRequest } from '../lib/rate-limit.ts';
import { checkoutMount } from './checkout.ts';
import { clickMount } from './click.ts';
import { confirmMount } from './confirm.ts';
import { fileMount } from './file.ts';
import type { InboundMount } from './link-request.ts';
import { logOutMount } from './log-out.ts';
import { loginLinkMount } from './login-link.ts';
import { openMount } from './open.ts';
import { createAnswerDeadline } from './answer-deadline.ts';
import { profileMount } from './profile.ts';
import { signUpMount } from './sign-up.ts';
import { hostProofMount } from './host-proof.ts';
import { verifyAddressMount } from './verify-address.ts';
import { unsubscribeMount } from './unsubscribe.ts';
import { webhookMount } from './webhook.ts';
import { webViewMount, type WebView } from './web-view.ts';
import type { Framers } from './author-html.ts';
import { pluginMount } from './plugins/plugin-mount.ts';
import { previewMount, type ReadPreview } from './preview.ts';

export interface Inbound {
  readonly mounts: readonly InboundMount[];
  /** What an operator should know. */
  notes(): readonly string[];
  /**
   * Call after the web server has closed and before the database closes: writes the tracking events that wait, and moves them on.
   */
  close(): Promise<void>;
}

/** A burst takes some seconds to count; more deserves a note. */
const LATE_SECONDS = 10;

export interface InboundOptions {
  /** For writing and moving events behind the answers; absent: the same context. */
  readonly work?: Context;
  readonly webView: WebView;
  readonly preview: ReadPreview;
  /** Other origins whose pages may frame web views and previews. */
  readonly framers?: Framers;
  readonly places?: GeoLocator;
  /** For what plugins serve. */
  readonly countRequest?: CountRequest | undefined;
}

/** All handlers of this module. `ctx` is the public's: nobody is logged in. */
export async function createInbound(
  ctx: Context,
  { work = ctx, webView, preview, framers = [], places = nowhere, countRequest }: InboundOptions,
): Promise<Inbound> {
  // First: it throws when the database does not answer, and nothing else is open yet.
  const disabled = await watchDisabledCustomers(work);
  const eventConsumer = startTrackingEventConsumer(work);
  const recorder = createTrackingEventRecorder(work, () => eventConsumer.wake());
  const means = { recorder, places, disabled, deadline: createAnswerDeadline(ctx.log) };
  return {
    mounts: [
      openMount(ctx, means),
      clickMount(ctx, means),
      unsubscribeMount(ctx),
      confirmMount(ctx),
      webViewMount(ctx, { webView, disabled, framers }),
      previewMount(ctx, { preview, framers }),
      profileMount(ctx),
      signUpMount(ctx),
      fileMount(ctx),
      loginLinkMount(ctx),
      logOutMount(ctx),
      verifyAddressMount(ctx),
      checkoutMount(ctx),
      hostProofMount(ctx),
      webhookMount(ctx),
      pluginMount(ctx, countRequest),
    ],
    notes() {
      const seconds = Math.round(eventConsumer.lagMs() / 1_000);
      return seconds >= LATE_SECONDS ? [`Opens and clicks are counted ${seconds} seconds late.`] : [];
    },
    async close() {
      disabled.close();
      await recorder.close();
      await eventConsumer.close();
    },
  };
}
