/** Reads the list of a vendor's subscriptions page by page, to its end. */
import { GatewayError } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { readRemotePage, type ReadRemote } from './remote-answers.ts';

/** PayPal's pages have 20, so this is 100,000 subscriptions and more: a list without an end is a fault of its plugin. */
export const PAGES_MAX = 5_000;

/** Each subscription once, in the vendor's order. Throws GatewayError when the list repeats itself or does not end; PluginFailedError. */
export async function* walkRemotes(ctx: Context, open: OpenGateway): AsyncGenerator<ReadRemote> {
  const cursors = new Set<string>();
  let cursor: string | null = null;
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const at: string | null = cursor;
    const answered = await open.call(async (service) => service.getRemoteSubscriptions?.(at));
    const { data, hasMore, nextCursor: next } = readRemotePage([ctx, open], answered);
    yield* data;
    if (!hasMore) return;
    if (next === null || cursors.has(next))
      throw new GatewayError(
        'unavailable',
        `The vendor's list of subscriptions does not end: page ${page} says that there are more, and ${next === null ? 'not where' : 'names a page that was read before'}.`,
      );
    cursors.add(next);
    cursor = next;
  }
  throw new GatewayError('unavailable', `The vendor's list of subscriptions has more than ${PAGES_MAX} pages.`);
}

/** The vendor's subscription that carries the intent; undefined: there is none. */
export async function findAtVendor(
  ctx: Context,
  open: OpenGateway,
  intentUid: string,
): Promise<ReadRemote | undefined> {
  for await (const remote of walkRemotes(ctx, open)) if (remote.intentUid === intentUid) return remote;
  return undefined;
}
