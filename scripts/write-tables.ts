/**
 * Draws the tables of the migrated database into docs/tables.md: `npm run tables`. With `--check` it fails when the page is out
 * of date. A table is listed under the migration that makes it; lines between tables are foreign keys, and in the schema `hot`,
 * which has none, columns named after a table.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { migrate, readMigrations, type Migration } from '../src/db/migrate.ts';
import { silentLog } from '../src/lib/log.ts';
import { startScratchPostgres } from './scratch-postgres.ts';

const MIGRATIONS = path.resolve(import.meta.dirname, '../prisma/migrations');
const PAGE = path.resolve(import.meta.dirname, '../docs/tables.md');

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isKey: boolean;
  readonly isOptional: boolean;
}

interface Table {
  /** With its schema, unless that is `public`. */
  readonly name: string;
  readonly comment: string;
  readonly noun: string;
  readonly columns: readonly Column[];
  /** Tables that its foreign keys lead to. */
  readonly references: readonly string[];
}

/** Column of a hot table -> the table whose id it is. */
const NAMED_AFTER: Readonly<Record<string, string>> = {
  campaign_id: 'campaign',
  list_id: 'mail_list',
  subscriber_id: 'subscriber',
  server_id: 'sending_server',
  handler_id: 'bounce_handler',
  webhook_id: 'webhook',
};

const migrations = await readMigrations(MIGRATIONS);
const page = pageOf(await readTables());
if (process.argv.includes('--check')) await check();
else await writeFile(PAGE, page);

async function check(): Promise<void> {
  if ((await readFile(PAGE, 'utf8').catch(() => '')) === page) return;
  console.error('docs/tables.md is not what the migrations make. Write it with: npm run tables');
  process.exitCode = 1;
}

async function readTables(): Promise<Table[]> {
  const server = await startScratchPostgres();
  try {
    await migrate({ url: server.url, migrations, log: silentLog });
    return await tablesAt(server.url);
  } finally {
    await server.stop();
  }
}

async function tablesAt(url: string): Promise<Table[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; columns: Column[]; references: string[] }>(`
      SELECT c.oid::regclass::text AS name,
             (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, NULL),
                                                'isKey', coalesce(a.attnum = ANY (k.conkey), false), 'isOptional', NOT a.attnotnull)
                              ORDER BY a.attnum)
                FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
             ARRAY(SELECT DISTINCT f.confrelid::regclass::text FROM pg_constraint f
                    WHERE f.conrelid = c.oid AND f.contype = 'f' ORDER BY 1) AS references
        FROM pg_class c LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
       WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> '_prisma_migrations'
         AND c.relnamespace IN ('public'::regnamespace, 'hot'::regnamespace, 'inbox'::regnamespace)
       ORDER BY 1`);
    return rows.map((row) => ({ ...row, ...madeBy(row.name) }));
  } finally {
    await client.end();
  }
}

/** The noun of the migration that makes a table, and its comment there. */
function madeBy(table: string): { readonly noun: string; readonly comment: string } {
  for (const { name, script } of migrations) {
    const made = new RegExp(
      `((?:^--.*\\n)*)^CREATE (?:UNLOGGED )?TABLE ${table.replace('.', String.raw`\.`)} \\(`,
      'm',
    ).exec(script);
    if (made) return { noun: nounOf(name), comment: (made[1] ?? '').replaceAll(/^-- ?/gm, '').trim() };
  }
  throw new Error(`No migration makes the table ${table}.`);
}

function nounOf(migration: Migration['name']): string {
  return migration.replace(/^\d+_/, '').replaceAll('_', ' ');
}

function pageOf(tables: readonly Table[]): string {
  const nouns = [...new Set(migrations.map(({ name }) => nounOf(name)))].filter((noun) =>
    tables.some((table) => table.noun === noun),
  );
  return [
    '# The tables',
    '',
    'Written by `npm run tables` from the migrations; do not edit. PK: part of the primary key; `?`: may be null.',
    'The schema `hot` holds the ledger, events and counters: no foreign keys and no Prisma models, but plain SQL.',
    ...nouns.flatMap((noun) => sectionOf(noun, tables)),
    '',
  ].join('\n');
}

function sectionOf(noun: string, tables: readonly Table[]): string[] {
  const own = tables.filter((table) => table.noun === noun);
  const title = noun.charAt(0).toUpperCase() + noun.slice(1);
  return [
    '',
    `## ${title}`,
    '',
    ...own.flatMap(({ name, comment }) => (comment === '' ? [] : [`- \`${name}\`: ${comment.replaceAll('\n', ' ')}`])),
    '',
    '```mermaid',
    'erDiagram',
    ...own.flatMap((table) => [...entityOf(table), ...linesOf(table)]),
    '```',
  ];
}

function entityOf({ name, columns }: Table): string[] {
  const lines = columns.map(
    (column) =>
      `    ${column.type.replaceAll(/[^\w[\]]+/g, '_')} ${column.name}${column.isKey ? ' PK' : ''}${column.isOptional ? ' "?"' : ''}`,
  );
  return [`  ${entityName(name)} {`, ...lines, '  }'];
}

function linesOf({ name, columns, references }: Table): string[] {
  const named = name.startsWith('hot.') ? columns.flatMap((column) => NAMED_AFTER[column.name] ?? []) : [];
  return [...references, ...named]
    .filter((other) => other !== name && other !== 'customer')
    .map((other) => `  ${entityName(other)} ||--o{ ${entityName(name)} : ""`);
}

/** Mermaid needs quotes around names with a dot. */
function entityName(table: string): string {
  return table.includes('.') ? `"${table}"` : table;
}
