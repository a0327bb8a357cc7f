/** What the world sends back: the addresses that stand in mails, ready to be mounted on the web server. */
import type { Context } from '../domain/context.ts';
import { createActivityRecorder } from '../domain/tracking/activity-recorder.ts';
import { nowhere, type GeoLocator } from '../domain/tracking/geo-locator.ts';
import { clickMount } from './click.ts';
import { confirmMount } from './confirm.ts';
import { fileMount } from './file.ts';
import type { InboundMount } from './link-request.ts';
import { logOutMount } from './log-out.ts';
import { loginLinkMount } from './login-link.ts';
import { openMount } from './open.ts';
import { profileMount } from './profile.ts';
import { signUpMount } from './sign-up.ts';
import { unsubscribeMount } from './unsubscribe.ts';
import { webViewMount, type WebView } from './web-view.ts';

export interface Inbound {
  readonly mounts: readonly InboundMount[];
  /** After the web server has closed, before the database does: writes the events that wait. */
  close(): Promise<void>;
}

/** All handlers of this room. `ctx` is the public's: nobody is logged in. */
export function createInbound(
  ctx: Context,
  { webView, places = nowhere }: { webView: WebView; places?: GeoLocator },
): Inbound {
  const recorder = createActivityRecorder(ctx);
  return {
    mounts: [
      openMount(ctx, recorder, places),
      clickMount(ctx, recorder, places),
      unsubscribeMount(ctx),
      confirmMount(ctx),
      webViewMount(ctx, webView),
      profileMount(ctx),
      signUpMount(ctx),
      fileMount(ctx),
      loginLinkMount(ctx),
      logOutMount(ctx),
    ],
    close: () => recorder.close(),
  };
}
