/** Reads lists of a vendor page by page, to their end: its subscriptions, and the periods of one of them. */
import { GatewayError, type RemotePeriod } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { readPeriodPage, readRemotePage, type ReadRemote } from './remote-answers.ts';

/** PayPal's pages have 20, so this is 100,000 subscriptions and more: a list without an end is a fault of its plugin. */
export const PAGES_MAX = 5_000;

interface Page<Item> {
  readonly data: readonly Item[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/** Each subscription once, in the vendor's order. Throws GatewayError when the list repeats itself or does not end; PluginFailedError. */
export function walkRemotes(ctx: Context, open: OpenGateway): AsyncGenerator<ReadRemote> {
  return walk('subscriptions', async (cursor) =>
    readRemotePage([ctx, open], await open.call(async (service) => service.getRemoteSubscriptions?.(cursor))),
  );
}

/** The periods of a subscription that end after `since`, and those of the page in which that is. Throws as `walkRemotes` does. */
export async function periodsSince(
  ctx: Context,
  open: OpenGateway,
  { remoteId, since }: { readonly remoteId: string; readonly since: Date },
): Promise<RemotePeriod[]> {
  const periods: RemotePeriod[] = [];
  const pages = walk('periods', async (cursor) =>
    readPeriodPage([ctx, open], await open.call(async (service) => service.getRemotePeriods?.(remoteId, cursor))),
  );
  for await (const period of pages) {
    if (period.endsAt <= since) break;
    periods.push(period);
  }
  return periods;
}

async function* walk<Item>(what: string, read: (cursor: string | null) => Promise<Page<Item>>): AsyncGenerator<Item> {
  const cursors = new Set<string>();
  let cursor: string | null = null;
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const { data, hasMore, nextCursor: next }: Page<Item> = await read(cursor);
    yield* data;
    if (!hasMore) return;
    if (next === null || cursors.has(next))
      throw new GatewayError(
        'unavailable',
        `The vendor's list of ${what} does not end: page ${page} says that there are more, and ${next === null ? 'not where' : 'names a page that was read before'}.`,
      );
    cursors.add(next);
    cursor = next;
  }
  throw new GatewayError('unavailable', `The vendor's list of ${what} has more than ${PAGES_MAX} pages.`);
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
