/**
 * A process of its own with three followers of the event record, for tests that kill it: `node follower-process.ts <url>`. What a
 * follower handles it writes into the table `handled`.
 */
import { openDatabase, sql } from '../../src/db/database.ts';
import { openNotifications } from '../../src/db/listen.ts';
import { followEvents } from '../../src/events/follow-events.ts';
import { silentLog } from '../../src/lib/log.ts';

export const FOLLOWERS = ['first', 'second', 'third'] as const;

const [, program = '', url = ''] = process.argv;
if (program === import.meta.filename) {
  const database = openDatabase({ url, poolSize: 6, log: silentLog });
  const notifications = openNotifications(database, silentLog);
  await followEvents(
    { database, notifications, log: silentLog },
    FOLLOWERS.map((name) => ({
      name,
      owner: 'test',
      async handle(events) {
        // In two parts, so that a kill can come between them.
        for (const half of [events.slice(0, events.length / 2), events.slice(events.length / 2)])
          if (half.length > 0)
            await database.execute(sql`
              INSERT INTO handled (follower, event_id) SELECT ${name}, id
                FROM unnest(${half.map(({ id }) => id)}::bigint[]) WITH ORDINALITY AS e (id, no) ORDER BY no`);
      },
    })),
  );
  console.log('following');
}
