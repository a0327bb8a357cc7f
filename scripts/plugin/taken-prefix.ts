/** Whether the names of a vendor's tables would begin like something of the product: activating a plugin of it would be refused. */
import path from 'node:path';
import { readMigrations } from '../../src/db/migrate.ts';
import { tablePrefix } from '../../src/domain/plugins/plugin.ts';

const MIGRATIONS = path.resolve(import.meta.dirname, '../../prisma/migrations');
/** What a migration makes: `CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "hot"."name"`. */
const MADE =
  /\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|UNLOGGED\s+|MATERIALIZED\s+)*(TABLE|INDEX|VIEW|FUNCTION|PROCEDURE|SEQUENCE|TYPE|DOMAIN)\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(?:"?\w+"?\.)?"?(\w+)"?/gi;

/** How functions and tables of the job queue begin, which makes them itself. */
const OF_THE_QUEUE = ['add', 'complete', 'force', 'job', 'jobs', 'permanently', 'reschedule', 'tasks'];

/** The table or other thing of the product; undefined: the prefix is free. */
export async function takenPrefix(vendor: string): Promise<string | undefined> {
  const prefix = tablePrefix(vendor);
  if (OF_THE_QUEUE.includes(vendor)) return 'schema of the job queue';
  for (const { script } of await readMigrations(MIGRATIONS))
    for (const [, kind = '', name = ''] of script.matchAll(MADE)) {
      // A table brings its key and its sequence, whose names begin with its own and "_".
      const begins = kind.toUpperCase() === 'TABLE' ? `${name}_` : name;
      if (begins.startsWith(prefix)) return `${kind.toLowerCase()} ${name}`;
    }
  return undefined;
}
