/** The pixel: an image of one transparent dot whose being fetched says that the message was displayed. */
import type { ServerResponse } from 'node:http';
import type { Context } from '../domain/context.ts';
import type { ActivityRecorder } from '../domain/tracking/activity-recorder.ts';
import type { GeoLocator } from '../domain/tracking/geo-locator.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import { linkMount, type InboundMount } from './link-request.ts';
import { sendUnknownLink } from './notices.ts';
import { setPublicHeaders } from './page.ts';
import { withinPatience } from './patience.ts';

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** `/o/<token>.gif`. The answer comes after the open is recorded. HEAD shows nothing to anybody and counts nothing. */
export function openMount(ctx: Context, recorder: ActivityRecorder, places: GeoLocator): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  return linkMount(ctx, {
    prefix: '/o',
    methods: ['GET', 'HEAD'],
    places,
    async serve({ ctx: publicCtx, res, method, token, visitor }) {
      const recipient = token.endsWith('.gif') ? signer.read('open', token.slice(0, -'.gif'.length)) : undefined;
      if (!recipient) return sendUnknownLink(res);
      if (method === 'GET') await withinPatience(publicCtx, recorder.open(recipient, visitor));
      sendPixel(res);
    },
  });
}

function sendPixel(res: ServerResponse): void {
  setPublicHeaders(res);
  res.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  res.writeHead(200, { 'Content-Type': 'image/gif', 'Content-Length': PIXEL.length });
  res.end(PIXEL);
}
