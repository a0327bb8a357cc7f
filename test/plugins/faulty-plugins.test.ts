/**
 * Plugins that harm, in a program that runs as `npm start` runs it: each is named, none ends the program for long, and one that goes on is
 * switched off. Each test prints how long the API did not answer.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { watchOutages } from '../support/outages.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { folderOf, newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startWithParent, type Program } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
const settings = { DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web,worker', DB_POOL_SIZE: '8' };
const program = await startWithParent(settings);
const outages = watchOutages(program.baseUrl);
afterFile(() => outages.end());

/** A plugin that does this, in a timer of its own, when it is told to. */
function writeHarm(plugin: string, harm: string): void {
  writePlugin(dataDir, plugin, {
    code: `import { existsSync, rmSync } from 'node:fs';
      const go = new URL('./go', import.meta.url);
      export const plugin = { name: '${plugin}', boot: (hooks, services) => void setInterval(() => {
        if (!existsSync(go)) return;
        rmSync(go);
        ${harm}
      }, 20) };`,
  });
}

const tell = (plugin: string) => writeFileSync(path.join(folderOf(dataDir, plugin), 'go'), '');

interface Line {
  readonly event: string;
  readonly plugin?: string;
  readonly [field: string]: unknown;
}

function lines(of: Program = program): Line[] {
  const all = of.output().split('\n');
  return all.filter((line) => line.startsWith('{"time"')).map((line): Line => JSON.parse(line));
}

/** The line of the log, as soon as it is there. */
async function logged(event: string, plugin: string, of = program): Promise<Line> {
  const find = () => lines(of).findLast((line) => line.event === event && line.plugin === plugin);
  await expect.poll(find, { timeout: 60_000, interval: 50 }).toBeDefined();
  return find() ?? { event };
}

const readyTimes = (of = program): number => of.output().split('is ready at').length - 1;

/** Activates it, has it do harm, and answers how long nobody was answered. */
async function harm(plugin: string, code: string): Promise<number> {
  writeHarm(plugin, code);
  expect(await pluginClient(program).activate(plugin)).toMatchObject({ status: 'ACTIVE', isLive: true });
  outages.longest();
  tell(plugin);
  return 0;
}

async function untilRestarted(times: number, of = program): Promise<number> {
  await expect.poll(() => readyTimes(of), { timeout: 90_000, interval: 50 }).toBeGreaterThan(times);
  await sleep(200);
  const seconds = outages.longest();
  return seconds;
}

const report = (what: string, seconds: number): void =>
  console.log(`${what}: the API did not answer for ${seconds.toFixed(1)} s`);

const stored = async (plugin: string) => {
  const [vendor, name] = plugin.split('/');
  const query = sql`SELECT status, error, cardinality(ends) AS ends, switched_off_at IS NOT NULL AS off FROM plugin WHERE vendor = ${vendor} AND name = ${name}`;
  const [row] = await queryRows<{ status: string; error: string | null; ends: number; off: boolean }>(database, query);
  return row;
};

describe('faults that do not end the process', () => {
  test('an exception and a rejection that nobody catches, also of values that are no errors', async () => {
    const pid = lines().length;
    await harm('acme/throws', `setTimeout(() => { throw new Error('thrown late'); }, 1);`);
    expect(await logged('plugin.not_caught', 'acme/throws')).toMatchObject({ message: 'thrown late' });
    await harm('acme/rejects', `void Promise.reject('no error at all');`);
    expect(await logged('plugin.not_caught', 'acme/rejects')).toMatchObject({ kind: 'rejection' });
    expect(pid).toBeGreaterThan(0);
    report('late throw and rejection', outages.longest());
    expect(readyTimes()).toBe(1);
    const counted = sql`SELECT plugin, failed::int AS failed FROM hot.hook_fault_total WHERE hook = 'later' ORDER BY plugin`;
    await expect
      .poll(() => queryRows(database, counted), { timeout: 30_000 })
      .toEqual([
        { plugin: 'acme/rejects', failed: 1 },
        { plugin: 'acme/throws', failed: 1 },
      ]);
  });

  test('a fault while its code is loaded', async () => {
    writePlugin(dataDir, 'acme/broken', { code: `throw new Error('broken');` });
    const answer = await pluginClient(program).activate('acme/broken');
    expect(JSON.stringify(answer)).toContain('broken');
    expect(readyTimes()).toBe(1);
  });

  test('10,000 timers, and a promise that is never resolved', async () => {
    await harm('acme/timers', `for (let i = 0; i < 10_000; i++) setInterval(() => undefined, 100);`);
    await harm('acme/never', `new Promise(() => undefined).then(() => undefined);`);
    await sleep(2_000);
    report('10,000 timers', outages.longest());
    expect(readyTimes()).toBe(1);
    expect(await pluginClient(program).deactivate('acme/timers')).toMatchObject({ status: 'INACTIVE' });
  });

  test('a log without end is cut', async () => {
    const before = program.output().length;
    await harm(
      'acme/talks',
      `for (let i = 0; i < 50_000; i++) { console.log('x'.repeat(200)); services.log.info('y', { text: 'y'.repeat(2_000) }); }
       console.error('z'.repeat(1_000_000));`,
    );
    expect(await logged('plugin.output_left_out', 'acme/talks')).toBeDefined();
    await sleep(500);
    report('huge log', outages.longest());
    expect(program.output().length - before).toBeLessThan(300_000);
    expect(readyTimes()).toBe(1);
  });
});

describe('faults that end the process', () => {
  test.each([
    ['process.exit', 'acme/exits', 'process.exit(0);', 'It ended the process with code 0.'],
    ['process.abort', 'acme/aborts', 'process.abort();', 'It aborted the process.'],
    ['kill', 'acme/kills', `process.kill(process.pid, 'SIGKILL');`, 'It sent the signal SIGKILL to the process.'],
    ['endless loop', 'acme/loops', 'for (;;);', 'It held the process for 5 seconds.'],
    [
      'endless promises',
      'acme/awaits',
      'void (async () => { for (;;) await 1; })();',
      'It held the process for 5 seconds.',
    ],
  ])('%s: the program is started again, and the plugin has a fault', async (what, plugin, code, how) => {
    const times = readyTimes();
    await harm(plugin, code);
    report(what, await untilRestarted(times));
    expect(await logged('process.ended', plugin)).toMatchObject({ how });
    expect(await stored(plugin)).toMatchObject({ status: 'active', ends: 1, off: false });
    if (code.includes('for')) expect(await logged('plugin.blocks', plugin)).toBeDefined();
    await pluginClient(program).deactivate(plugin);
  });
});
