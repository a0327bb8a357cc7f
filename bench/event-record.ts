/**
 * The event record under `kill -9`: 20,000 events for three followers in two processes, one of which is killed 30 times. How
 * many events came again, and whether one was missed or came too early; it fails then.
 *
 *   node bench/event-record.ts [--smoke] [--events 20000] [--kills 30]
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openDatabase } from '../src/db/database.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import { silentLog } from '../src/lib/log.ts';
import { killFollowers } from '../scripts/support/killed-followers.ts';

const { values } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, events: { type: 'string' }, kills: { type: 'string' } },
});
const events = Number(values.events ?? (values.smoke ? 500 : 20_000));
const kills = Number(values.kills ?? (values.smoke ? 1 : 30));

const server = await startScratchPostgres([
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  'autovacuum=on',
]);
const migrations = await readMigrations(path.resolve(import.meta.dirname, '../prisma/migrations'));
await migrate({ url: server.url, migrations, log: silentLog });
const database = openDatabase({ url: server.url, poolSize: 6, log: silentLog });
try {
  const startedAt = performance.now();
  const kept = await killFollowers(database, { events, kills });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  console.log(
    `${kept.events} events, 3 followers, ${kept.kills} kills in ${seconds} s: ` +
      `${kept.missed} missed, ${kept.outOfOrder} out of order, ${kept.again} came again`,
  );
  if (kept.missed + kept.outOfOrder > 0) process.exitCode = 1;
} finally {
  await database.close();
  await server.stop();
}
