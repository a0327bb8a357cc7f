/** The tracked link: records the click and sends the reader on, to the address under the link's own signature only. */
import type { Context } from '../domain/context.ts';
import type { ActivityRecorder } from '../domain/tracking/activity-recorder.ts';
import type { GeoLocator } from '../domain/tracking/geo-locator.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import { linkMount, type InboundMount } from './link-request.ts';
import { sendUnknownLink } from './notices.ts';
import { setPublicHeaders } from './page.ts';
import { withinPatience } from './patience.ts';

/** `/c/<token>`. The redirect comes after the click is recorded. */
export function clickMount(ctx: Context, recorder: ActivityRecorder, places: GeoLocator): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  return linkMount(ctx, {
    prefix: '/c',
    methods: ['GET', 'HEAD'],
    places,
    async serve({ ctx: publicCtx, res, token, visitor }) {
      const click = signer.readClick(token);
      if (!click) return sendUnknownLink(res);
      await withinPatience(publicCtx, recorder.click(click, visitor));
      setPublicHeaders(res);
      res.writeHead(302, { Location: click.url, 'Content-Length': 0 });
      res.end();
    },
  });
}
