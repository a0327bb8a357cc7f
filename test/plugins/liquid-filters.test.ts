/** The REGISTRY liquid_filter: code of a plugin in the thread that runs Liquid, loaded from its folder, and cut off when it does not end. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0', DATA_DIR: dataDir });
const owner = await app.newTenant();
const { call, mailTo, newList, newCampaign, add, done } = mailWorld(app, owner);

const FILTERS = `
  import { mark } from './mark.ts';
  let calls = 0;
  export const shout = (value: string, times = 1): string => value.toUpperCase() + mark.repeat(times);
  export const html = (): string => '<b>"';
  export const throws = (): string => { throw new Error('Its own fault.'); };
  export const nothing = (): unknown => null;
  export const later = async (): Promise<string> => 'late';
  export const loops = (): string => { for (;;) calls += 1; };
`;
const NAMES = ['shout', 'html', 'throws', 'nothing', 'later', 'loops'];

function install(filters: string, names: readonly string[] = NAMES, more: Readonly<Record<string, string>> = {}): void {
  const entries = names.map((name) => ({ name: `acme_${name}`, module: './liquid/filters.ts', export: name, ...more }));
  writePlugin(dataDir, 'acme/liquid', {
    code: `export const plugin = { name: 'acme/liquid', boot(hooks) {
      for (const entry of ${JSON.stringify(entries)}) hooks.add('liquid_filter', entry);
      // A template of the same plugin may use them.
      const html = '{{ FIRST_NAME | acme_shout }}';
      hooks.add('mail_template', { key: 'loud', title: 'Loud', language: 'en', subject: 'Hi', html });
    } };`,
    files: { 'liquid/filters.ts': filters, 'liquid/mark.ts': `export const mark = '!';` },
  });
}
const act = (what: string) =>
  app.rest(`/plugins/acme/liquid/${what}`, { method: 'POST', body: {}, token: app.adminToken });

const list = await newList();
await add(list, 'ann@liquid.example', { FIRST_NAME: 'Ann' });
const campaign = await newCampaign(list, { subject: 'Hi' });
async function shown(html: string) {
  const answer = await app.rest('/campaigns/preview', {
    ...{ method: 'POST', token: owner.token },
    body: { campaign_uid: campaign, subscriber: 'ann@liquid.example', html },
  });
  return answer.status === 200 ? String(field(answer, 'preview', 'html')) : answer.text;
}

test('a filter runs in messages while the plugin is active, and its output is escaped', async () => {
  const html = '<p>{{ FIRST_NAME | acme_shout: 3 }} {{ FIRST_NAME | acme_html }}</p>';
  install(FILTERS);
  expect(await shown(html)).toContain('undefined filter: acme_shout');
  expect((await act('activate')).status).toBe(200);
  expect(await shown(html)).toContain('<p>ANN!!! &lt;b&gt;&quot;</p>');
  const sent = await newCampaign(list, { subject: '{{ FIRST_NAME | acme_shout }}', html });
  await call('POST', `/campaigns/${sent}/run`);
  await done(sent);
  expect((await mailTo('ann@liquid.example')).subject).toBe('ANN!');
  expect((await act('deactivate')).status).toBe(200);
  expect(await shown(html)).toContain('undefined filter: acme_shout');
});

test('changed files are loaded when the plugin is activated again', async () => {
  expect((await act('activate')).status).toBe(200);
  install(FILTERS.replace('value.toUpperCase()', "'changed'"));
  expect((await act('activate')).status).toBe(200);
  expect(await shown('<p>{{ FIRST_NAME | acme_shout }}</p>')).toContain('<p>changed!</p>');
});

test('a filter that never ends is cut off like a template that takes too long, and others go on', async () => {
  const answer = await shown('<p>{{ FIRST_NAME | acme_loops }}</p>');
  expect(answer).toContain('Line 1: it takes too long.');
  expect(await shown('<p>{{ FIRST_NAME | acme_shout }}</p>')).toContain('<p>changed!</p>');
});

test.each([
  ['throws', 'the filter acme_throws of the plugin acme/liquid failed: Its own fault.'],
  ['nothing', 'the filter acme_nothing of the plugin acme/liquid failed: it returned no text'],
  ['later', 'the filter acme_later of the plugin acme/liquid failed: it returned no text'],
])('a faulty filter (%s) is named', async (name, sentence) => {
  expect(await shown(`<p>{{ FIRST_NAME | acme_${name} }}</p>`)).toContain(sentence);
});

test('faults of filters are counted for the plugin, those of templates are not', async () => {
  const counted = async () => {
    const found = await queryRows<{ failed: number }>(
      app.ctx.db,
      sql`SELECT failed::int AS failed FROM hot.hook_fault_total WHERE plugin = 'acme/liquid' AND hook = 'liquid_filter'`,
    );
    return found[0]?.failed ?? 0;
  };
  // Those of the tests before; the heartbeat writes them.
  await expect.poll(counted, { timeout: 120_000 }).toBeGreaterThanOrEqual(3);
  const before = await counted();
  for (let time = 0; time < 40; time += 1)
    expect(await shown('<p>{{ FIRST_NAME | no_such_filter }}</p>')).toContain('undefined filter');
  expect(await shown('<p>{{ FIRST_NAME | acme_throws }}</p>')).toContain('failed');
  await expect.poll(counted, { timeout: 120_000 }).toBeGreaterThan(before);
  // A preview runs the template more than once, and faults of the tests before may have been written after the first few.
  expect((await counted()) - before).toBeLessThan(40);
});

test('a module that cannot be loaded, or does not end loading, stops only templates that use it', async () => {
  install('throw new Error("Not here.");', ['shout']);
  expect((await act('activate')).status).toBe(200);
  expect(await shown('<p>{{ FIRST_NAME | acme_shout }}</p>')).toContain('Not here.');
  expect(await shown('<p>{{ FIRST_NAME | upcase }}</p>')).toContain('<p>ANN</p>');
  install('for (;;) ;', ['shout']);
  expect((await act('activate')).status).toBe(200);
  expect(await shown('<p>{{ FIRST_NAME | acme_shout }}</p>')).toContain('it takes too long.');
  expect(await shown('<p>{{ FIRST_NAME | downcase }}</p>')).toContain('<p>ann</p>');
});

test.each([
  [{ name: 'other_shout' }, '"name": must begin with acme_.'],
  [{ module: './liquid/missing.ts' }, '"module": ./liquid/missing.ts is not there.'],
  [{ module: './../../secret.ts' }, '"module": must not leave the folder.'],
])('an entry is checked: %o', async (more, sentence) => {
  install(FILTERS, ['shout'], more);
  const answer = await act('activate');
  expect(answer.status).toBe(422);
  expect(answer.text).toContain(sentence.replaceAll('"', '\\"'));
});
