/** Jobs of plugins on the running product: run, tried again, cut off, given up, waiting for their plugin, gone with it. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { enqueueDueSlots } from '../../src/domain/plugins/due-slots.ts';
import { queueByTask } from '../../src/domain/installation/monitoring-read-model.ts';
import { sweepPluginJobs } from '../../src/domain/plugins/plugin-jobs.ts';
import type { PluginJobs } from '../../src/plugin-api/index.ts';
import { crontab } from '../../src/workers/crontab.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });

/** What plugins of this file have done, and the services that they have got. */
const seen: { readonly plugin: string; readonly what: unknown }[] = [];
const services = new Map<string, { readonly jobs: PluginJobs }>();
Object.assign(globalThis, { seenJobs: seen, servicesOfJobs: services });
const seenOf = (plugin: string) => seen.filter((each) => each.plugin === plugin).map(({ what }) => what);

/** A plugin that adds these entries; in their text, `see` notes something. */
async function activateWith(plugin: string, entries: string, version = '1.0.0'): Promise<PluginJobs> {
  const code = `
    const see = (what) => globalThis.seenJobs.push({ plugin: '${plugin}', what });
    export const plugin = {
      name: '${plugin}',
      boot(hooks, services) {
        globalThis.servicesOfJobs.set('${plugin}', services);
        ${entries}
      },
    };`;
  writePlugin(dataDir, plugin, { code, version });
  expect(await client.activate(plugin)).toMatchObject({ status: 'ACTIVE', error: null });
  return jobsOf(plugin);
}

function jobsOf(plugin: string): PluginJobs {
  const found = services.get(plugin);
  if (!found) throw new Error(`The plugin ${plugin} has no services.`);
  return found.jobs;
}

async function states(plugin: string) {
  const [vendor, name] = plugin.split('/');
  const { it } = await client.graphql(
    `query ($vendor: String!, $name: String!) { it: pluginJobs(vendor: $vendor, name: $name) {
       ... on PluginJobsSuccess { nodes { kind name status attempts attemptsMax lastError } } } }`,
    { vendor, name },
  );
  return it && 'nodes' in it ? it.nodes : undefined;
}

test('a job runs with its payload, by the code that is live', async () => {
  const jobs = await activateWith(
    'acme/runs',
    `hooks.add('job', { name: 'count', run: (payload, { attempt }) => void see({ ...payload, attempt }) });`,
  );
  await jobs.enqueue('count', { to: 7, names: ['a', null] });
  await expect.poll(() => seenOf('acme/runs')).toEqual([{ to: 7, names: ['a', null], attempt: 1 }]);
  await expect.poll(() => states('acme/runs')).toEqual([]);
});

test('a job waits for its time, and one with the same key replaces it', async () => {
  const jobs = await activateWith('acme/keys', `hooks.add('job', { name: 'say', run: ({ text }) => void see(text) });`);
  const runAt = new Date(Date.now() + 3_600_000);
  await jobs.enqueue('say', { text: 'first' }, { key: 'one', runAt });
  expect(await states('acme/keys')).toMatchObject([{ kind: 'JOB', name: 'say', status: 'WAITING', attempts: 0 }]);
  await jobs.enqueue('say', { text: 'second' }, { key: 'one' });
  await jobs.enqueue('say', { text: 'other' });
  await expect.poll(() => seenOf('acme/keys').length).toBe(2);
  expect(new Set(seenOf('acme/keys'))).toEqual(new Set(['other', 'second']));
});

test('what is enqueued is checked, with a sentence', async () => {
  const jobs = await activateWith(
    'acme/checks',
    `hooks.add('job', { name: 'mail', check({ to }) { if (!to) throw new Error('Say to whom.'); }, run: () => see('ran') });`,
  );
  const refusal = (...args: readonly unknown[]) =>
    Reflect.apply(jobs.enqueue, jobs, args).then(
      () => 'none',
      ({ message }: Error) => message,
    );
  expect(await refusal('mails', {})).toContain('has no job "mails"');
  expect(await refusal('mails', {})).toContain('It has "mail".');
  expect(await refusal('mail', {})).toBe('Say to whom.');
  expect(await refusal('mail', 7)).toContain('must be an object with plain data');
  expect(await refusal('mail', { to: 'x'.repeat(70_000) })).toContain('over 65536 bytes');
  expect(await refusal('mail', { to: 'a' }, { key: '' })).toContain('The key of a job');
  expect(await refusal('mail', { to: 'a' }, { runAt: new Date(Date.now() + 400 * 86_400_000) })).toContain('"runAt"');
  expect(await refusal('mail', { to: 'a' }, { runAt: 'soon' })).toContain('"runAt"');
  await client.deactivate('acme/checks');
  expect(await refusal('mail', { to: 'a' })).toContain('is not active');
  expect(await states('acme/checks')).toEqual([]);
});

test.for([
  [`hooks.add('job', { name: 'No!', run() {} });`, '"name": must consist of small letters'],
  [`hooks.add('job', { name: 'a' });`, '"run": must be a function.'],
  [
    `hooks.add('job', { name: 'a', run() {}, attemptsMax: 26 });`,
    '"attemptsMax": must be a whole number from 1 to 25.',
  ],
  [`hooks.add('job', { name: 'a', run() {} }); hooks.add('job', { name: 'a', run() {} });`, 'two of the name "a"'],
  [`hooks.add('cron_line', { name: 'a', line: '61 * * * *', run() {} });`, '"line": "61" is no minute'],
  [`hooks.add('daily_task', { name: 'a', hour: 24, run() {} });`, '"hour": must be a whole number from 0 to 23.'],
] as const)('an entry that cannot be used is refused: %s', async ([entries, reason]) => {
  const code = `export const plugin = { name: 'acme/wrong', boot(hooks) { ${entries} } };`;
  writePlugin(dataDir, 'acme/wrong', { code });
  const { fields = [] } = await client.activate('acme/wrong');
  expect(fields.flatMap(({ messages }) => messages).join(' ')).toContain(reason);
});

test('a job that fails is tried again; given up, it shows, and an administrator can have it tried again', async () => {
  const jobs = await activateWith(
    'acme/fails',
    `hooks.add('job', { name: 'twice', attemptsMax: 2, run(_payload, { attempt }) { see(attempt); throw new Error('No ' + attempt + '.'); } });`,
  );
  await jobs.enqueue('twice', {});
  await expect.poll(() => seenOf('acme/fails'), { timeout: 120_000 }).toEqual([1, 2]);
  const givenUp = { name: 'twice', status: 'GIVEN_UP', attempts: 2, attemptsMax: 2 };
  await expect.poll(() => states('acme/fails')).toMatchObject([givenUp]);
  expect(await states('acme/fails')).toMatchObject([{ lastError: expect.stringContaining('No 2.') }]);
  const input = { vendor: 'acme', name: 'fails' };
  const mutation = `mutation ($input: RetryPluginJobsInput!) { it: retryPluginJobs(input: $input) { ... on RetriedPluginJobs { count } } }`;
  expect(await client.graphql(mutation, { input })).toEqual({ it: { count: 1 } });
  await expect.poll(() => seenOf('acme/fails'), { timeout: 120_000 }).toEqual([1, 2, 1, 2]);
  await expect.poll(() => states('acme/fails')).toMatchObject([givenUp]);
  await app.ctx.db.execute(
    sql`UPDATE graphile_worker._private_jobs SET updated_at = now() - interval '31 days' WHERE flags ? 'plugin:acme/fails'`,
  );
  await sweepPluginJobs(app.ctx);
  expect(await states('acme/fails')).toEqual([]);
});

test('a job that does not end is cut off after its time', async () => {
  const jobs = await activateWith(
    'acme/endless',
    `hooks.add('job', { name: 'wait', attemptsMax: 1, secondsMax: 1, run: (_payload, { signal }) => {
       signal.addEventListener('abort', () => see('told'));
       return new Promise(() => undefined);
     } });`,
  );
  await jobs.enqueue('wait', {});
  await expect.poll(() => states('acme/endless'), { timeout: 120_000 }).toMatchObject([{ status: 'GIVEN_UP' }]);
  expect(seenOf('acme/endless')).toEqual(['told']);
});

test('jobs of an inactive plugin wait without a try, run by the new code, and go when it is deleted', async () => {
  const entry = (text: string) => `hooks.add('job', { name: 'say', run: () => void see('${text}') });`;
  const jobs = await activateWith('acme/waits', entry('old'));
  // Not before the plugin is inactive, however long that takes.
  await jobs.enqueue('say', {}, { runAt: new Date(Date.now() + 3_600_000) });
  await client.deactivate('acme/waits');
  const at = Date.now() + 5_000;
  await app.ctx.db.execute(
    sql`UPDATE graphile_worker._private_jobs SET run_at = ${new Date(at)} WHERE flags ? 'plugin:acme/waits'`,
  );
  // Another plugin's job that comes later runs: the look-up has passed by the one that waits.
  await jobsOf('acme/runs').enqueue('count', { to: 9 }, { runAt: new Date(at + 1_000) });
  await expect.poll(() => seenOf('acme/runs').length, { timeout: 120_000 }).toBe(2);
  expect(await states('acme/waits')).toMatchObject([{ status: 'WAITING', attempts: 0, lastError: null }]);
  const queue = async () => (await queueByTask(app.ctx.db)).find(({ task }) => task === 'plugins.run');
  await expect.poll(queue).toMatchObject({ due: 0, later: 1, running: 0, oldestDueSeconds: 0 });
  expect(seenOf('acme/waits')).toEqual([]);
  await activateWith('acme/waits', entry('new'), '2.0.0');
  await expect.poll(() => seenOf('acme/waits'), { timeout: 120_000 }).toEqual(['new']);

  await jobsOf('acme/waits').enqueue('say', {}, { runAt: new Date(Date.now() + 3_600_000) });
  await client.deactivate('acme/waits');
  expect(await states('acme/waits')).toHaveLength(1);
  expect(await client.remove('acme/waits')).toMatchObject({ name: 'waits' });
  const left = await queryRows(app.ctx.db, sql`SELECT 1 FROM graphile_worker.jobs WHERE flags ? 'plugin:acme/waits'`);
  expect(left).toEqual([]);
});

test('one plugin has one place of a process at a time, and all plugins together two', async () => {
  const slow = `hooks.add('job', { name: 'slow', run: async () => {
    see('begin'); globalThis.slowJobs = (globalThis.slowJobs ?? 0) + 1; see(globalThis.slowJobs);
    await new Promise((resolve) => setTimeout(resolve, 300));
    globalThis.slowJobs -= 1; see('end');
  } });`;
  const plugins = ['acme/slow-a', 'acme/slow-b', 'acme/slow-c'];
  // All of them at once: those of one plugin do not end while the next one is being activated.
  const jobs: PluginJobs[] = [];
  for (const plugin of plugins) jobs.push(await activateWith(plugin, slow));
  await Promise.all(jobs.flatMap((of) => [1, 2, 3].map(() => of.enqueue('slow', {}))));
  const ends = () => plugins.flatMap(seenOf).filter((what) => what === 'end').length;
  await expect.poll(ends, { timeout: 120_000 }).toBe(9);
  for (const plugin of plugins) {
    const inOrder = seenOf(plugin).filter((what) => typeof what === 'string');
    expect(inOrder, plugin).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end']);
  }
  expect(Math.max(...plugins.flatMap(seenOf).filter((what) => typeof what === 'number'))).toBe(2);
});

test('a plugin with too many waiting jobs is told so', async () => {
  const jobs = await activateWith('acme/many', `hooks.add('job', { name: 'a', run() {} });`);
  await jobs.enqueue('a', {}, { runAt: new Date(Date.now() + 3_600_000) });
  await app.ctx.db.execute(sql`
    SELECT count(*) FROM generate_series(1, 5000) n, LATERAL graphile_worker.add_job('plugins.run', '{"hook": "job", "name": "a"}',
      run_at => now() + n * interval '1 day', flags => ARRAY['plugin', 'plugin:acme/many'])`);
  expect(await states('acme/many')).toHaveLength(200);
  const again = () => jobs.enqueue('a', {}, { runAt: new Date(Date.now() + 3_600_000) });
  await expect
    .poll(() =>
      again().then(
        () => '',
        ({ message }: Error) => message,
      ),
    )
    .toContain('5000 jobs of the plugin "acme/many" wait already');
});

test('each time of a timetable runs once, late ones once, and none of the time in which the plugin was inactive', async () => {
  expect(crontab).toContainEqual({ task: 'plugins.due-slots', match: '* * * * *' });
  // Neither time comes while the test runs.
  const far = new Date(Date.now() + 30 * 60_000);
  const [minute, hour] = [far.getUTCMinutes(), (far.getUTCHours() + 11) % 24];
  const lines = `
    hooks.add('cron_line', { name: 'often', line: '${minute} * * * *', run: ({ slot }) => void see('cron ' + slot.toISOString()) });
    hooks.add('daily_task', { name: 'daily', hour: ${hour}, run: ({ slot }) => void see('day ' + slot.getUTCHours()) });`;
  await activateWith('acme/times', lines);
  const ticks = () => Promise.all([1, 2, 3].map(() => enqueueDueSlots(app.ctx)));
  const setBack = (interval: string) =>
    app.ctx.db.execute(sql`UPDATE plugin_slot SET slot = now() - ${interval}::interval WHERE plugin = 'times'`);
  await ticks();
  expect(await queryRows(app.ctx.db, sql`SELECT 1 FROM plugin_slot WHERE plugin = 'times'`)).toHaveLength(2);
  expect(seenOf('acme/times')).toEqual([]);

  // Days pass without a process.
  await setBack('3 days');
  await ticks();
  await expect.poll(() => seenOf('acme/times').length, { timeout: 120_000 }).toBe(2);
  await ticks();
  const [slot] = await queryRows<{ slot: Date }>(
    app.ctx.db,
    sql`SELECT slot FROM plugin_slot WHERE plugin = 'times' AND line = 'often'`,
  );
  expect(slot?.slot.getUTCMinutes()).toBe(minute);
  expect(new Set(seenOf('acme/times'))).toEqual(new Set([`cron ${slot?.slot.toISOString()}`, `day ${hour}`]));

  await client.deactivate('acme/times');
  await setBack('3 days');
  await ticks();
  await client.activate('acme/times');
  await ticks();
  expect(seenOf('acme/times')).toHaveLength(2);
  await expect.poll(() => states('acme/times')).toEqual([]);
  // A line goes away while all else runs.
  await setBack('3 days');
  await activateWith('acme/times', `hooks.add('job', { name: 'a', run() {} });`, '2.0.0');
  await ticks();
  await expect.poll(() => states('acme/times')).toEqual([]);
});
