/** A program that runs as `npm start` runs it, with plugins that do harm when a test asks for it. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from './after-file.ts';
import { watchOutages, type Outages } from './outages.ts';
import { pluginClient } from './plugin-client.ts';
import { folderOf, newDataDir, writePlugin } from './plugin-folder.ts';
import { startWithParent, type Program } from './program.ts';
import { createTestDatabase } from './test-database.ts';

export interface LogLine {
  readonly event: string;
  readonly plugin?: string;
  readonly [field: string]: unknown;
}

export interface FaultyWorld {
  readonly program: Program;
  readonly database: Database;
  readonly dataDir: string;
  readonly outages: Outages;
  readonly settings: Readonly<Record<string, string>>;
  /** Activates a plugin that does this in a timer of its own, and has it do so. */
  harm(plugin: string, code: string): Promise<void>;
  /** Has it do harm again. */
  harmAgain(plugin: string): void;
  /** The latest such line of the log, as soon as there is one. */
  logged(event: string, plugin: string): Promise<LogLine>;
  /** How often the program has started. */
  starts(): number;
  /** Waits until it has started more often, and prints how long the API did not answer. */
  untilRestarted(what: string, times: number): Promise<void>;
  stored(plugin: string): Promise<StoredPlugin | undefined>;
}

interface StoredPlugin {
  readonly status: string;
  readonly error: string | null;
  readonly ends: number;
  readonly off: boolean;
}

/** Starts it, on a database of its own unless the settings name one. */
export async function startFaultyWorld(more: Readonly<Record<string, string>> = {}): Promise<FaultyWorld> {
  const url = more['DATABASE_URL'] ?? (await createTestDatabase()).url;
  const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
  afterFile(() => database.close());
  const dataDir = newDataDir();
  const settings = { DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web,worker', DB_POOL_SIZE: '8', ...more };
  const program = await startWithParent(settings);
  const outages = watchOutages(program.baseUrl);
  afterFile(() => outages.end());
  const starts = () => program.output().split('is ready at').length - 1;
  const harmAgain = (plugin: string) => writeFileSync(path.join(folderOf(dataDir, plugin), 'go'), '');
  return {
    ...{ program, database, dataDir, outages, settings, starts, harmAgain },
    async harm(plugin, code) {
      writePlugin(dataDir, plugin, { code: harmfulCode(plugin, code) });
      expect(await pluginClient(program).activate(plugin)).toMatchObject({ status: 'ACTIVE', isLive: true });
      outages.longest();
      harmAgain(plugin);
    },
    async logged(event, plugin) {
      const find = () => linesOf(program).findLast((line) => line.event === event && line.plugin === plugin);
      await expect.poll(find, { timeout: 240_000, interval: 50 }).toBeDefined();
      return find() ?? { event };
    },
    async untilRestarted(what, times) {
      await expect.poll(starts, { timeout: 240_000, interval: 50 }).toBeGreaterThan(times);
      // The next question is answered by the new process.
      await sleep(200);
      console.log(`${what}: the API did not answer for ${outages.longest().toFixed(1)} s`);
    },
    async stored(plugin) {
      const [vendor, name] = plugin.split('/');
      const [row] = await queryRows<StoredPlugin>(
        database,
        sql`SELECT status, error, cardinality(ends) AS ends, switched_off_at IS NOT NULL AS off FROM plugin
             WHERE vendor = ${vendor} AND name = ${name}`,
      );
      return row;
    },
  };
}

/** The processes that the parent process has started. */
export function childrenOf({ process: { pid } }: Program): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function harmfulCode(plugin: string, code: string): string {
  return `import { existsSync, rmSync } from 'node:fs';
    const go = new URL('./go', import.meta.url);
    export const plugin = { name: '${plugin}', boot: (hooks, services) => void setInterval(() => {
      if (!existsSync(go)) return;
      rmSync(go);
      ${code}
    }, 20) };`;
}

function linesOf(program: Program): LogLine[] {
  const lines = program.output().split('\n');
  return lines
    .filter((line) => line.startsWith('{"time"') && line.endsWith('}'))
    .map((line): LogLine => JSON.parse(line));
}
