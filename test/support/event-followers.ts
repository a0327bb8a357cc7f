/** Followers of the event record in tests. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { openNotifications } from '../../src/db/listen.ts';
import type { Context } from '../../src/domain/context.ts';
import type { RecordedEvent } from '../../src/events/event-kinds.ts';
import { lastEventId, readEvents } from '../../src/events/event-store.ts';
import { followEvents, type Follower, type Following } from '../../src/events/follow-events.ts';
import { afterFile } from './after-file.ts';

/** Starts them as one process would; they end with the file, or before. */
export async function startFollowers(
  { database, log }: Pick<Context, 'database' | 'log'>,
  followers: readonly Follower[],
): Promise<Following> {
  const notifications = openNotifications(database, log);
  const following = await followEvents({ database, notifications, log }, followers);
  const stop = async (graceMs = 5_000): Promise<void> => {
    await following.stop(graceMs);
    await notifications.close();
  };
  afterFile(() => stop());
  return { ...following, stop };
}

/** Resolves when this follower has handled all that has happened so far. */
export async function caughtUp(db: Queryable, name: string): Promise<void> {
  const last = await lastEventId(db);
  for (;;) {
    const [follower] = await queryRows<{ position: bigint }>(
      db,
      sql`SELECT position FROM hot.event_follower WHERE name = ${name}`,
    );
    if (follower && follower.position >= last) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The events about these objects, in their order. */
export async function eventsAbout(db: Queryable, ...uids: readonly string[]): Promise<RecordedEvent[]> {
  const events = await readEvents(db, { after: 0n, upTo: await lastEventId(db), max: 100_000 });
  return events.filter(({ objectUid }) => uids.includes(objectUid));
}
