/** Plugins that end processes again and again are switched off, and the administrators know. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { isAlive } from '../../src/lib/is-alive.ts';
import { childrenOf, startFaultyWorld } from '../support/faulty-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { writePlugin } from '../support/plugin-folder.ts';
import { startProgram, startWithParent } from '../support/program.ts';

describe('a plugin is switched off', () => {
  test('that ends the process whenever its code is loaded, though nobody has activated it', async () => {
    const world = await startFaultyWorld({ INBOX: 'on', INBOX_SMTP_PORT: '0', WORKER_CONCURRENCY: '2' });
    const { program, dataDir, database, settings, stored, logged } = world;
    writePlugin(dataDir, 'acme/first', { code: 'process.exit(0);' });
    // Whoever asks gets no answer.
    await pluginClient(program)
      .discover()
      .catch(() => undefined);
    expect(await logged('plugin.switched_off', 'acme/first')).toMatchObject({ level: 'error' });
    await expect.poll(() => world.starts(), { timeout: 240_000 }).toBe(2);
    const reason =
      'It was switched off because it ended processes of Mailwright 3 times within ten minutes. It ended the process with code 0.';
    expect(await stored('acme/first')).toMatchObject({
      status: 'inactive',
      off: true,
      error: expect.stringContaining(reason),
    });
    const headers = { Authorization: `Bearer ${program.token}` };
    const shown: unknown = await (await fetch(`${program.baseUrl}/api/v1/plugins`, { headers })).json();
    const entry = {
      name: 'first',
      status: 'inactive',
      error: expect.stringContaining(reason),
      switched_off_at: expect.any(String),
    };
    expect(shown).toContainEqual(expect.objectContaining(entry));
    const query = '{ it: installation { ... on Installation { diagnostics { name status message } } } }';
    expect(JSON.stringify(await pluginClient(program).graphql(query))).toMatch(
      /"plugins","status":"ERROR".*acme\/first/,
    );
    // The mail arrives in the inbox.
    const mails = sql`SELECT subject FROM inbox.message WHERE subject LIKE '%switched off%'`;
    await expect
      .poll(() => queryRows(database, mails), { timeout: 240_000 })
      .toEqual([{ subject: 'The plugin acme/first was switched off' }]);

    // Also after a stop: its code is not loaded.
    await program.stop();
    const next = await startWithParent(settings);
    expect(await pluginClient(next).plugin('acme/first')).toMatchObject({ status: 'INACTIVE', fault: null });
    // A better version is activated.
    writePlugin(dataDir, 'acme/first', { version: '1.0.1' });
    expect(await pluginClient(next).activate('acme/first')).toMatchObject({
      status: 'ACTIVE',
      isLive: true,
      error: null,
    });
    expect(await stored('acme/first')).toMatchObject({ ends: 0, off: false });
    await next.stop();
  });

  test('that was activated last, when nothing explains three ends', async () => {
    const world = await startFaultyWorld();
    const { program, dataDir, stored, starts, logged } = world;
    for (const plugin of ['acme/earlier', 'acme/latest']) {
      writePlugin(dataDir, plugin);
      await pluginClient(program).activate(plugin);
    }
    for (let times = 1; times <= 3; times++) {
      for (const pid of childrenOf(program)) process.kill(pid, 'SIGKILL');
      await expect.poll(starts, { timeout: 240_000 }).toBe(times + 1);
      expect(await stored('acme/latest')).toMatchObject({ off: times === 3 });
    }
    expect(await logged('plugin.switched_off', 'acme/latest')).toMatchObject({
      message: expect.stringContaining('nothing explains it'),
    });
    expect(await stored('acme/earlier')).toMatchObject({ status: 'active', off: false });
    expect(await pluginClient(program).plugin('acme/latest')).toMatchObject({ status: 'INACTIVE', isLive: false });
    expect(await program.stop()).toMatchObject({ code: 0 });
  });

  test('that ends a worker process, by the program that has started it', async () => {
    const world = await startFaultyWorld({ WORKERS: '2' });
    const { program, dataDir, logged, stored } = world;
    writePlugin(dataDir, 'acme/works', {
      code: `export const plugin = { name: 'acme/works', boot: () =>
        void (process.env.MAILWRIGHT_WORKER_NUMBER && setTimeout(() => process.exit(4), 300)) };`,
    });
    await pluginClient(program).activate('acme/works');
    expect(await logged('plugin.switched_off', 'acme/works')).toMatchObject({ level: 'error' });
    expect(await stored('acme/works')).toMatchObject({ status: 'inactive', off: true });
    // The program itself went on.
    expect(world.starts()).toBe(1);
    // Whoever kills the parent process kills the program.
    const [child = 0] = childrenOf(program);
    expect(isAlive(child)).toBe(true);
    await program.kill();
    await expect.poll(() => isAlive(child), { timeout: 240_000 }).toBe(false);
  });
});

test('SAFE_MODE starts in spite of plugins that end the process, and one of them can be deactivated', async () => {
  const world = await startFaultyWorld();
  const { program, settings, stored } = world;
  await world.harm('acme/harms', 'setInterval(() => undefined, 1000);');
  await program.stop();
  writePlugin(world.dataDir, 'acme/harms', { code: 'process.abort();' });
  const safe = await startProgram({ ...settings, SAFE_MODE: '1' });
  expect(await pluginClient(safe).plugin('acme/harms')).toMatchObject({ status: 'ACTIVE', isLive: false });
  expect(await pluginClient(safe).deactivate('acme/harms')).toMatchObject({ status: 'INACTIVE' });
  expect(await stored('acme/harms')).toMatchObject({ ends: 0, off: false });
  await safe.stop();
});
