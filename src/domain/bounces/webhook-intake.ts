/**
 * Takes the events of vendors' requests that come at the same time together: many vendors send one event a request, and a transaction
 * for each would slow down campaigns. A request is answered when its events are in the queue.
 */
import { WebhookBusyError } from '../../lib/errors.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import type { Context } from '../context.ts';
import { enqueueWebhookEvents, type MessageEvent, type WebhookSender } from './webhook-events.ts';

/** Rejects as the database does, or with WebhookBusyError when too many requests wait. */
export type TakeEvents = (sender: WebhookSender, events: readonly MessageEvent[]) => Promise<void>;

interface Posted {
  readonly sender: WebhookSender;
  readonly events: readonly MessageEvent[];
}

/** A request has at most 1 MB, mostly a few hundred bytes. */
const REQUESTS_WAITING_MAX = 1_000;
const REQUESTS_AT_ONCE_MAX = 200;

/** For all requests of a process. */
export function createWebhookIntake(ctx: Context): TakeEvents {
  let waiting = 0;
  const commits = createGroupCommit<Posted>({
    ...{ batchMax: REQUESTS_AT_ONCE_MAX, waitMs: 0, waitingMax: REQUESTS_WAITING_MAX },
    write: (posted) => writeByServer(ctx, posted),
  });
  return async (sender, events) => {
    if (waiting >= REQUESTS_WAITING_MAX) throw new WebhookBusyError('Too many requests of vendors wait.');
    waiting += 1;
    await commits.add({ sender, events }).finally(() => (waiting -= 1));
  };
}

async function writeByServer(ctx: Context, posted: readonly Posted[]): Promise<void> {
  for (const [serverId, { sender, events }] of byServer(posted)) {
    const taken = await enqueueWebhookEvents(ctx, sender, events);
    ctx.log.debug('webhook.taken', { serverId, ...taken });
  }
}

function byServer(posted: readonly Posted[]): ReadonlyMap<bigint, Posted> {
  const servers = new Map<bigint, { sender: WebhookSender; events: MessageEvent[] }>();
  for (const { sender, events } of posted) {
    const known = servers.get(sender.serverId);
    if (known) known.events.push(...events);
    else servers.set(sender.serverId, { sender, events: [...events] });
  }
  return servers;
}
