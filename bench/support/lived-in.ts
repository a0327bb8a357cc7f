/**
 * A lived-in database for benches: figures of an empty one say little of a product after months. It is made once
 * (fill-lived-in.ts), stopped cleanly and kept in a folder; each bench works on a copy, so that all begin alike.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedDatabase, type EmbeddedDatabase } from '../../src/db/embedded.ts';
import { fillLivedIn } from './fill-lived-in.ts';
import { LARGE_LIST, SECOND_LIST, sizesAt } from './lived-in-sizes.ts';
import { startProduct } from './product.ts';

/** What `--smoke` runs on: three thousand people, in some seconds. */
export const SMOKE_SCALE = 0.005;

/** Where they are kept: `LIVED_IN`, or the temporary folder. */
const KEPT = process.env['LIVED_IN'] ?? path.join(tmpdir(), 'mailwright-lived-in');
const MARK = 'made-by';
/** What fills it, and its tables: the product takes no database of other tables. */
const SOURCES = [
  ...['fill-lived-in.ts', 'lived-in-campaigns.ts', 'lived-in-sizes.ts'],
  ...globSync('../../prisma/migrations/*/migration.sql', { cwd: import.meta.dirname }).toSorted(),
];

/** As the product's own embedded server runs. */
export const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on'];
/** While it is filled nothing is waited for; one that was cut short is made anew. */
const CARELESS = [
  ...['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'autovacuum=off', 'wal_level=minimal'],
  ...['max_wal_senders=0', 'max_wal_size=8GB', 'work_mem=256MB', 'maintenance_work_mem=512MB', 'shared_buffers=1GB'],
];
/** In a data folder of the product (`DATA_DIR`). */
const DATABASE = 'postgres';

/** A started copy, removed when it is stopped. */
export async function startLivedIn(scale: number, settings: readonly string[] = []): Promise<EmbeddedDatabase> {
  const copy = mkdtempSync(path.join(tmpdir(), 'mailwright-lived-in-copy-'));
  const remove = () => rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
  try {
    copyFolder(await keptLivedIn(scale), copy);
    const server = await startEmbeddedDatabase({
      folder: path.join(copy, DATABASE),
      settings: [...DURABLE, ...settings],
    });
    await clearPlace(server.url);
    return { url: server.url, stop: () => server.stop().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A copy is no restored backup. */
async function clearPlace(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`DELETE FROM setting WHERE key = 'installation.place'`);
  await client.end();
}

/** The folder that is kept at this scale, made when it is not there or was made by other programs than these. */
export async function keptLivedIn(scale: number, say: (line: string) => void = () => undefined): Promise<string> {
  const kept = path.join(KEPT, String(scale));
  const sources = SOURCES.map((name) => readFileSync(path.join(import.meta.dirname, name)));
  const mark = createHash('sha256').update(Buffer.concat(sources)).digest('hex');
  if (existsSync(path.join(kept, MARK)) && readFileSync(path.join(kept, MARK), 'utf8') === mark) return kept;
  mkdirSync(KEPT, { recursive: true, mode: 0o755 });
  // Two benches may make it at the same moment: each beside its place, and the later one takes its own away.
  const made = mkdtempSync(path.join(KEPT, `${scale}-`));
  await make(made, scale, say);
  writeFileSync(path.join(made, MARK), mark);
  if (existsSync(kept)) renameSync(kept, `${made}.old`);
  renameSync(made, kept);
  rmSync(`${made}.old`, { recursive: true, force: true });
  return kept;
}

async function make(folder: string, scale: number, say: (line: string) => void): Promise<void> {
  const server = await startEmbeddedDatabase({ folder: path.join(folder, DATABASE), settings: CARELESS });
  try {
    // Makes the tables and the operator's account.
    await (await startProduct(server.url, { ROLES: 'web', LOG_LEVEL: 'silent' })).stop();
    await fillLivedIn(server.url, sizesAt(scale), say);
  } finally {
    await server.stop();
  }
}

function copyFolder(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', path.join(from, DATABASE), to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The lived-in database cannot be copied: ${stderr}`);
}

/** Uids of the operator's two lists, the newest campaign of each first. */
export interface LivedInLists {
  readonly large: { readonly uid: string; readonly people: number; readonly campaigns: readonly string[] };
  readonly second: { readonly uid: string; readonly people: number; readonly campaigns: readonly string[] };
}

export async function livedInLists(url: string): Promise<LivedInLists> {
  const client = new pg.Client(url);
  await client.connect();
  const find = async (name: string) => {
    const { rows } = await client.query<LivedInLists['large']>(
      `SELECT l.uid, (SELECT sum(members)::integer FROM hot.subscriber_block b WHERE b.customer_id = l.customer_id AND b.list_id = l.id) AS people,
              ARRAY(SELECT c.uid FROM campaign c WHERE c.customer_id = l.customer_id AND c.list_id = l.id ORDER BY c.id DESC) AS campaigns
         FROM mail_list l JOIN customer o ON o.id = l.customer_id AND o.is_operator WHERE l.name = $1`,
      [name],
    );
    const [list] = rows;
    if (!list) throw new Error(`There is no list "${name}": this is no lived-in database.`);
    return list;
  };
  const lists = { large: await find(LARGE_LIST), second: await find(SECOND_LIST) };
  await client.end();
  return lists;
}
