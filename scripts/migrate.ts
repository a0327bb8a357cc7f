/**
 * Migrations for developers: `npm run migrate:new -- <name>` writes the next one from the difference between prisma/schema.prisma
 * with prisma/functions and the migrations (`--empty` for your own SQL); `npm run migrate:check` fails when there is a
 * difference. The product applies them when it starts: src/db/migrate.ts.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import { silentLog } from '../src/lib/log.ts';
import { findMissingSql } from './schema-engine.ts';
import { startScratchPostgres } from './scratch-postgres.ts';
import { missingFunctionSql, readFunctionFiles } from './support/sql-functions.ts';
import { migrationName } from './support/migration-name.ts';

const FOLDER = path.resolve(import.meta.dirname, '../prisma/migrations');
const SCHEMA = path.resolve(import.meta.dirname, '../prisma/schema.prisma');
const USAGE = 'Usage: npm run migrate:new -- <name> [--empty]   or   npm run migrate:check';

const [command, ...options] = process.argv.slice(2);
if (command === 'check') await check();
else if (command === 'new') await writeNext(options);
else fail(USAGE);

async function check(): Promise<void> {
  const sql = await missingSql();
  if (sql === '') console.log('The migrations lead exactly to prisma/schema.prisma and prisma/functions.');
  else
    fail(
      'prisma/schema.prisma or prisma/functions has what no migration makes. ' +
        `Write one with: npm run migrate:new -- <name>\n\n${sql}`,
    );
}

async function writeNext(words: readonly string[]): Promise<void> {
  const name = words
    .filter((word) => !word.startsWith('--'))
    .join('_')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_');
  if (name === '') return fail(USAGE);
  const sql = words.includes('--empty') ? '-- Say here what this migration is for.' : await missingSql();
  if (sql === '')
    return fail(
      'Nothing to do: the migrations lead to prisma/schema.prisma and prisma/functions already. For SQL of your own add --empty.',
    );
  const folder = migrationName(name, { existing: await readdir(FOLDER), now: new Date() });
  const file = path.join(FOLDER, folder, 'migration.sql');
  await mkdir(path.dirname(file));
  await writeFile(file, `${sql}\n`);
  console.log(
    `Wrote ${path.relative(process.cwd(), file)}: read it before you commit it. A renamed column, say, shows as a loss.`,
  );
}

/** Runs every migration on an empty scratch database; tables in the schema `hot` are not Prisma's and are ignored. */
async function missingSql(): Promise<string> {
  const server = await startScratchPostgres();
  try {
    const schema = { path: 'prisma/schema.prisma', content: await readFile(SCHEMA, 'utf8') };
    const migrations = await readMigrations(FOLDER);
    const tables = await findMissingSql({ url: server.url, schema, migrations });
    await migrate({ url: server.url, migrations, log: silentLog });
    const functions = await missingFunctionSql(server.url, await readFunctionFiles());
    return [tables, functions].filter((part) => part !== '').join('\n\n');
  } finally {
    await server.stop();
  }
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
