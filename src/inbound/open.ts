/** The tracking pixel: an image of one transparent dot. When it is loaded, the message was displayed. */
import type { ServerResponse } from 'node:http';
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import type { Visitor } from '../domain/tracking/tracking.ts';
import { linkMount, tokenAtStart, tokenOf, visitorOf, type InboundMount } from './link-request.ts';
import { PUBLIC_HEADERS, setPublicHeaders } from './page.ts';
import type { TrackingMeans } from './tracking-means.ts';

/** One byte per character. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64').toString('latin1');
const PIXEL_HEADERS = ['Cross-Origin-Resource-Policy', 'cross-origin', 'Content-Type', 'image/gif'];

const ALWAYS = [...PUBLIC_HEADERS.flat(), ...PIXEL_HEADERS];

/**
 * `/o/<token>.gif`. The answer comes after the open is committed. HEAD displays nothing and counts nothing. An invalid address
 * gets the same answer after the same work: otherwise a stranger could find out by trying which are valid.
 */
export function openMount(ctx: Context, { recorder, deadline, places, disabled }: TrackingMeans): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  const record = (token: string, visitor: Visitor): Promise<void> => {
    const recipient = token.endsWith('.gif') ? signer.read('open', token.slice(0, -'.gif'.length)) : undefined;
    return recipient && !disabled.has(recipient.customerId) ? recorder.open(recipient, visitor) : recorder.nothing();
  };
  const mount = linkMount(ctx, {
    prefix: '/o',
    methods: ['GET', 'HEAD'],
    places,
    async serve({ res, method, token, visitor }) {
      setPublicHeaders(res);
      if (method === 'GET') deadline.wait(record(token, visitor), (more) => sendPixel(res, more));
      else sendPixel(res, []);
    },
  });
  return {
    ...mount,
    fast(req, ipAddress, answer) {
      const token = tokenAtStart(tokenOf(req, '/o'));
      deadline.wait(record(token, visitorOf(req, ipAddress, places)), (more) =>
        answer({ status: 200, headers: [...ALWAYS, ...more], body: PIXEL }),
      );
      return true;
    },
  };
}

function sendPixel(res: ServerResponse, head: readonly string[]): void {
  res.writeHead(200, [...head, ...PIXEL_HEADERS, 'Content-Length', String(PIXEL.length)]);
  res.end(PIXEL, 'latin1');
}
