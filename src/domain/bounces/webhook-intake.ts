/**
 * Takes the events of vendors' requests that come at the same time together: many vendors send one event a request, and a transaction
 * for each would slow down campaigns. A request is answered when its events are in the queue, and it is kept itself.
 */
import { WebhookBusyError } from '../../lib/errors.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import type { Context } from '../context.ts';
import type { RequestOwner } from './vendor-request-store.ts';
import { bytesOf, type KeptRequest } from './vendor-request.ts';
import { enqueueWebhookEvents, type MessageEvent } from './webhook-events.ts';

/** One request: its events, and itself. */
export interface PostedRequest {
  readonly server: RequestOwner;
  readonly events: readonly MessageEvent[];
  readonly request: KeptRequest;
}

/** Rejects as the database does, or with WebhookBusyError when too many requests wait. */
export type TakeEvents = (posted: PostedRequest) => Promise<void>;

const REQUESTS_WAITING_MAX = 1_000;
/** A request has at most 1 MB, mostly a few hundred bytes. */
const BYTES_WAITING_MAX = 33_554_432;
const REQUESTS_AT_ONCE_MAX = 200;

/** For all requests of a process. */
export function createWebhookIntake(ctx: Context): TakeEvents {
  let waiting = 0;
  let bytesWaiting = 0;
  const commits = createGroupCommit<PostedRequest>({
    ...{ batchMax: REQUESTS_AT_ONCE_MAX, waitMs: 0, waitingMax: REQUESTS_WAITING_MAX },
    write: (posted) => writeByServer(ctx, posted),
  });
  return async (posted) => {
    const bytes = bytesOf(posted.request);
    if (waiting >= REQUESTS_WAITING_MAX || bytesWaiting + bytes > BYTES_WAITING_MAX)
      throw new WebhookBusyError('Too many requests of vendors wait.');
    waiting += 1;
    bytesWaiting += bytes;
    try {
      await commits.add(posted);
    } finally {
      waiting -= 1;
      bytesWaiting -= bytes;
    }
  };
}

async function writeByServer(ctx: Context, posted: readonly PostedRequest[]): Promise<void> {
  for (const [serverId, all] of Map.groupBy(posted, ({ server }) => server.serverId)) {
    const [first] = all;
    if (!first) continue;
    const taken = await enqueueWebhookEvents(ctx, first.server, {
      events: all.flatMap(({ events }) => events),
      requests: all.map(({ request }) => request),
    });
    ctx.log.debug('webhook.taken', { serverId, ...taken });
  }
}
