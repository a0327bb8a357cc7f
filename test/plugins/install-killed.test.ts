/** kill -9 at 30 points of an installation (hard case G6): the old version or the new one, complete, and never half of one. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { pluginArchive } from '../support/plugin-archive.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestContext } from '../support/test-context.ts';
import { ProcessPlugins } from '../../src/plugin-host/plugin-host.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { discoverPlugins } from '../../src/domain/plugins/discover-plugins.ts';

const POINTS = 30;
/** An installation has about so many statements. */
const STATEMENTS = 60;
const FILES = 40;
const PROCESS = path.resolve(import.meta.dirname, '../support/install-process.ts');

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 3, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
const root = path.join(dataDir, 'plugins');

/** Each file says of which version it is. */
function archiveOf(version: string): string {
  const file = path.join(dataDir, `${version}.tgz`);
  const more = Array.from({ length: FILES }, (_, no) => ({
    name: `package/data/${no}.txt`,
    content: version.repeat(500),
  }));
  writeFileSync(file, pluginArchive('acme/killed', { version, more }));
  return file;
}

function install(version: string, statements?: number) {
  const args = [PROCESS, url, dataDir, archiveOf(version), ...(statements === undefined ? [] : [String(statements)])];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

/** As a process that starts afterwards sees it. */
async function versionNow(): Promise<string> {
  const hooks = createHookBus(silentLog);
  const places = { bundled: '', installed: root };
  const plugins = new ProcessPlugins({ bus: hooks, places, isSafeMode: false, log: silentLog });
  const ctx = await createTestContext({ db: database, database, hooks, plugins });
  const [found] = await discoverPlugins(ctx);
  expect(found?.fault).toBeNull();
  const folder = realpathSync(path.join(root, 'acme/killed'));
  const version = found?.version ?? '';
  for (let no = 0; no < FILES; no++)
    expect(readFileSync(path.join(folder, 'data', `${no}.txt`), 'utf8')).toBe(version.repeat(500));
  const rows = await queryRows<{ version: string }>(
    database,
    sql`SELECT k.version FROM plugin_package k WHERE place = 'current'`,
  );
  expect(rows).toEqual([{ version }]);
  const names = readdirSync(root, { recursive: true }).map(String);
  expect(names.filter((name) => name.includes('.incoming-'))).toEqual([]);
  return version;
}

test('at each of 30 points there is one complete version', async () => {
  expect(install('1.0.0').stderr).toBe('');
  let version = await versionNow();
  const ended = { old: 0, new: 0, finished: 0 };
  for (let point = 1; point <= POINTS; point++) {
    // One that was not installed comes again: what is left of it must not count as complete.
    const next = `1.0.${ended.new + ended.finished + 1}`;
    const { signal } = install(next, Math.ceil((point * STATEMENTS) / POINTS));
    const now = await versionNow();
    expect([version, next]).toContain(now);
    ended[signal !== 'SIGKILL' ? 'finished' : now === next ? 'new' : 'old'] += 1;
    version = now;
    // Its interrupted row does not keep the next one from beginning.
    await database.execute(
      sql`UPDATE plugin_package SET updated_at = now() - interval '1 hour' WHERE state IN ('uploading', 'checking')`,
    );
  }
  // The points lie before and after the change.
  expect(ended.old).toBeGreaterThan(5);
  expect(ended.new).toBeGreaterThan(0);
  expect(install('2.0.0').stderr).toBe('');
  expect(await versionNow()).toBe('2.0.0');
  // Some thirty starts of Node, one after the other.
}, 900_000);
