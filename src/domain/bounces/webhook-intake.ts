/**
 * Takes the events of vendors' requests that come at the same time together: many vendors send one event a request, and a transaction
 * for each would slow down campaigns. A request is answered when its events are in the queue, and it is kept itself.
 */
import { WebhookBusyError } from '../../lib/errors.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import type { Context } from '../context.ts';
import { HourlyBytes, KEPT_AN_HOUR } from './hourly-bytes.ts';
import type { RequestOwner } from './vendor-request-store.ts';
import { bytesOf, type KeptRequest } from './vendor-request.ts';
import { enqueueWebhookEvents, type MessageEvent } from './webhook-events.ts';

/** One request: its events, and itself. */
export interface PostedRequest {
  readonly server: RequestOwner;
  readonly events: readonly MessageEvent[];
  readonly request: KeptRequest;
}

interface Waiting extends PostedRequest {
  readonly isKept: boolean;
}

/** Rejects as the database does, or with WebhookBusyError when too many requests wait, or one that cannot be read cannot be kept. */
export type TakeEvents = (posted: PostedRequest) => Promise<void>;

const REQUESTS_WAITING_MAX = 1_000;
/** A request has at most 1 MB, mostly a few hundred bytes. */
const BYTES_WAITING_MAX = 33_554_432;
const REQUESTS_AT_ONCE_MAX = 200;

/** For all requests of a process. */
export function createWebhookIntake(ctx: Context, keptAnHour = KEPT_AN_HOUR): TakeEvents {
  let waiting = 0;
  let bytesWaiting = 0;
  const keptBytes = new HourlyBytes(keptAnHour);
  const commits = createGroupCommit<Waiting>({
    ...{ batchMax: REQUESTS_AT_ONCE_MAX, waitMs: 0, waitingMax: REQUESTS_WAITING_MAX },
    write: (posted) => writeByServer(ctx, posted),
  });
  return async (posted) => {
    const bytes = bytesOf(posted.request);
    if (waiting >= REQUESTS_WAITING_MAX || bytesWaiting + bytes > BYTES_WAITING_MAX)
      throw new WebhookBusyError('Too many requests of vendors wait.');
    const isKept = keptBytes.take(posted.server.serverId, bytes);
    // Its events would be lost: the vendor comes again with them.
    if (!isKept && posted.request.fault !== null)
      throw new WebhookBusyError('More requests that cannot be read are not kept within this hour.');
    waiting += 1;
    bytesWaiting += bytes;
    try {
      await commits.add({ ...posted, isKept });
    } finally {
      waiting -= 1;
      bytesWaiting -= bytes;
    }
  };
}

async function writeByServer(ctx: Context, posted: readonly Waiting[]): Promise<void> {
  for (const [serverId, all] of Map.groupBy(posted, ({ server }) => server.serverId)) {
    const [first] = all;
    if (!first) continue;
    const requests = all.filter(({ isKept }) => isKept).map(({ request }) => request);
    const hasReported = all.some(({ request }) => request.fault === null);
    const taken = await enqueueWebhookEvents(ctx, first.server, {
      events: all.flatMap(({ events }) => events),
      ...{ requests, hasReported },
    });
    ctx.log.debug('webhook.taken', { serverId, ...taken });
    if (requests.length < all.length)
      ctx.log.warn('webhook.not_kept', { serverId, requests: all.length - requests.length });
  }
}
