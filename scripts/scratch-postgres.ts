/**
 * A temporary PostgreSQL for tests, benches and the migration tools: the embedded server in a temporary folder without
 * durability. Never for data that must be kept.
 */
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedDatabase } from '../src/db/embedded.ts';
import { isAlive } from '../src/lib/is-alive.ts';

const FOLDER_PREFIX = 'mailwright-scratch-';

/** Nothing here outlives the run, so nothing is flushed; short-lived tables need no vacuum. */
const FAST_SETTINGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'autovacuum=off',
  'shared_buffers=64MB',
];

export interface ScratchPostgres {
  /** The address of an empty database, for a superuser. */
  readonly url: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Starts an empty server on a free port of 127.0.0.1 in one to two seconds. `settings`: further `name=value`; `place`: where its
 * folder is made.
 */
export async function startScratchPostgres(
  settings: readonly string[] = [],
  place: string = tmpdir(),
): Promise<ScratchPostgres> {
  await sweepAbandonedFolders();
  const folder = await mkdtemp(path.join(place, `${FOLDER_PREFIX}${process.pid}-`));
  // When run as root, the server has its own user, who must be able to enter; its data folder stays closed.
  await chmod(folder, 0o755);
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const server = await startEmbeddedDatabase({ folder, settings: [...FAST_SETTINGS, ...settings] });
    return { url: server.url, stop: () => server.stop().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Removes folders of killed runs. A server ends itself within a minute once its folder is gone. */
async function sweepAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(FOLDER_PREFIX) ? Number.parseInt(name.slice(FOLDER_PREFIX.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    await rm(path.join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}
