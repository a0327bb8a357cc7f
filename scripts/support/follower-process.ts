/**
 * A process of its own with three followers of the event record, for tests that kill it: `node follower-process.ts <url>`. What a
 * follower handles it writes into the table `handled`.
 */
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { openNotifications } from '../../src/db/listen.ts';
import { pluginFollowers } from '../../src/domain/plugins/plugin-followers.ts';
import { followEvents } from '../../src/events/follow-events.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { Plugin } from '../../src/plugin-api/index.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';

const PLUGIN = 'acme/counts';
/** The last one is a plugin's. */
export const FOLLOWERS = ['first', 'second', `${PLUGIN}:third`] as const;

const [, program = '', url = ''] = process.argv;
if (program === import.meta.filename) await follow(openDatabase({ url, poolSize: 6, log: silentLog }));

async function follow(database: Database): Promise<void> {
  const notifications = openNotifications(database, silentLog);
  const hooks = createHookBus(silentLog);
  const plugin: Plugin = {
    name: PLUGIN,
    boot: (own) =>
      own.add('event_follower', {
        ...{ name: 'third', batch: 500 },
        handle: (events) => write(database, FOLLOWERS[2], events),
      }),
  };
  hooks.register(plugin);
  hooks.boot(plugin);
  hooks.goLive(PLUGIN);
  const following = await followEvents(
    { database, notifications, log: silentLog },
    FOLLOWERS.slice(0, 2).map((name) => ({
      ...{ name, owner: 'test' },
      handle: (events) => write(database, name, events),
    })),
  );
  following.use(pluginFollowers({ db: database, hooks }));
  console.log('following');
}

/** In two parts, so that a kill can come between them. */
async function write(
  database: Database,
  name: string,
  events: readonly { readonly id: bigint | string }[],
): Promise<void> {
  for (const half of [events.slice(0, events.length / 2), events.slice(events.length / 2)])
    if (half.length > 0)
      await database.execute(sql`
        INSERT INTO handled (follower, event_id) SELECT ${name}, id
          FROM unnest(${half.map(({ id }) => id)}::bigint[]) WITH ORDINALITY AS e (id, no) ORDER BY no`);
}
