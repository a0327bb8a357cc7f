/**
 * Plugins that harm, in a program that runs as `npm start` runs it: each is named, and none ends the program for long. The tests print how long
 * the API did not answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startFaultyWorld } from '../support/faulty-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { writePlugin } from '../support/plugin-folder.ts';

const world = await startFaultyWorld();
const { program, database, dataDir, outages } = world;
const { harm, logged, starts, untilRestarted, stored } = world;

const report = (what: string): void =>
  console.log(`${what}: the API did not answer for ${outages.longest().toFixed(1)} s`);

describe('faults that do not end the process', () => {
  test('an exception and a rejection that nobody catches, also of values that are no errors', async () => {
    await harm('acme/throws', `setTimeout(() => { throw new Error('thrown late'); }, 1);`);
    expect(await logged('plugin.not_caught', 'acme/throws')).toMatchObject({ message: 'thrown late' });
    await harm('acme/rejects', `void Promise.reject('no error at all');`);
    expect(await logged('plugin.not_caught', 'acme/rejects')).toMatchObject({ kind: 'rejection' });
    report('late throw and rejection');
    expect(starts()).toBe(1);
    const counted = sql`SELECT plugin, failed::int AS failed FROM hot.hook_fault_total WHERE hook = 'later' ORDER BY plugin`;
    await expect
      .poll(() => queryRows(database, counted), { timeout: 120_000 })
      .toEqual([
        { plugin: 'acme/rejects', failed: 1 },
        { plugin: 'acme/throws', failed: 1 },
      ]);
  });

  test('a fault while its code is loaded', async () => {
    writePlugin(dataDir, 'acme/broken', { code: `throw new Error('broken');` });
    expect(JSON.stringify(await pluginClient(program).activate('acme/broken'))).toContain('broken');
    expect(starts()).toBe(1);
  });

  test('10,000 timers, and a promise that is never resolved', async () => {
    await harm('acme/timers', `for (let i = 0; i < 10_000; i++) setInterval(() => undefined, 1_000);`);
    await harm('acme/never', `new Promise(() => undefined).then(() => undefined);`);
    await sleep(2_000);
    report('10,000 timers');
    expect(starts()).toBe(1);
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
    report('huge log');
    expect(program.output().length - before).toBeLessThan(300_000);
    expect(starts()).toBe(1);
  });
});

const HELD = 'It held the process for 5 seconds.';

describe('faults that end the process', () => {
  test.each([
    ['process.exit', 'acme/exits', 'process.exit(0);', 'It ended the process with code 0.'],
    ['process.abort', 'acme/aborts', 'process.abort();', 'It aborted the process.'],
    ['kill', 'acme/kills', `process.kill(process.pid, 'SIGKILL');`, 'It sent the signal SIGKILL to the process.'],
    ['SIGTERM', 'acme/terms', `process.kill(process.pid, 'SIGTERM');`, 'It sent the signal SIGTERM to the process.'],
    ['endless loop', 'acme/loops', 'for (;;);', HELD],
    ['endless promises', 'acme/awaits', 'void (async () => { for (;;) await 1; })();', HELD],
    [
      'a loop, then waiting where nobody can ask',
      'acme/waits',
      // Of its own time: it can be asked only while it computes.
      `for (const at = process.cpuUsage(), spent = () => process.cpuUsage(at); spent().user + spent().system < 4e6;);
       process.getBuiltinModule('node:child_process').execSync('sleep 60');`,
      HELD,
    ],
    [
      'patched built-ins',
      'acme/patches',
      'Array.prototype.map = () => process.exit(9);',
      'It ended the process with code 9.',
    ],
  ])(
    '%s: the program is started again, and the plugin has a fault',
    async (what, plugin, code, how) => {
      const times = starts();
      await harm(plugin, code);
      await untilRestarted(what, times);
      if (plugin === 'acme/patches') return;
      expect(await logged('process.ended', plugin)).toMatchObject({ how });
      expect(await stored(plugin)).toMatchObject({ status: 'active', ends: 1, off: false });
      if (how === HELD) expect(await logged('plugin.blocks', plugin)).toBeDefined();
      await pluginClient(program).deactivate(plugin);
    },
    600_000,
  );

  test.each([
    ['before', 'acme/asks', `compute(); process.kill(process.pid, 'SIGTERM');`],
    ['after', 'acme/asked', `process.kill(process.pid, 'SIGTERM'); compute();`],
  ])(
    'one that computes %s it asks for the end is named for asking',
    async (_when, plugin, code) => {
      const times = starts();
      writePlugin(dataDir, plugin, {
        code: `const compute = () => { for (const at = performance.now(); performance.now() - at < 500;); };
          export const plugin = { name: '${plugin}', boot: (hooks) =>
            hooks.on('activate_plugin_${plugin}', () => { ${code} }) };`,
      });
      outages.longest();
      await pluginClient(program)
        .activate(plugin)
        .catch(() => undefined);
      await untilRestarted('asks for the end', times);
      expect(await logged('process.ended', plugin)).toMatchObject({
        how: 'It sent the signal SIGTERM to the process.',
      });
      await expect.poll(() => stored(plugin), { timeout: 240_000 }).toMatchObject({ ends: 1 });
      await pluginClient(program).deactivate(plugin);
    },
    600_000,
  );

  test('an endless loop in a listener of an event, which comes again until the plugin is switched off', async () => {
    writePlugin(dataDir, 'acme/listens', {
      code: `export const plugin = { name: 'acme/listens', boot: (hooks) =>
        hooks.on('activate_plugin_acme/listens', () => { for (;;); }) };`,
    });
    outages.longest();
    // The process that answers may be the one that fires the event.
    await pluginClient(program)
      .activate('acme/listens')
      .catch(() => undefined);
    expect(await logged('process.ended', 'acme/listens')).toMatchObject({ how: HELD });
    await expect
      .poll(() => stored('acme/listens'), { timeout: 300_000 })
      .toMatchObject({ status: 'inactive', off: true });
    // The event was not fired to its end, and nobody listens any more.
    await expect
      .poll(
        () =>
          fetch(`${program.baseUrl}/healthz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: 120_000 },
      )
      .toBe(true);
    report('endless loop in a listener, three times');
  }, 600_000);
});
