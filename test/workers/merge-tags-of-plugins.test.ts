/** The REGISTRY merge_tag on a running product: values of plugins in the messages, asked for once for many recipients. */
import { afterEach, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import type { MergeTag, TagRecipient } from '../../src/plugin-api/index.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { withHooks } from '../support/with-hooks.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { call, mailTo, mailsTo, newList, newCampaign, add, done, preview } = mailWorld(app, owner);

const live: string[] = [];
afterEach(() => live.splice(0).forEach((name) => app.hooks.remove(name)));

function plugin(name: string, entry: Partial<MergeTag> & Pick<MergeTag, 'values'>): void {
  const tag = { tag: 'ACME_POINTS', title: 'Points', fallback: 'no points', example: '100', ...entry };
  live.push(withHooks(app.hooks, { name, boot: (hooks) => hooks.add('merge_tag', tag) }));
}

const TEXTS = {
  ...{ subject: '{ACME_POINTS} for you', track_click: 0 },
  html: '<p title="{ACME_POINTS}">{{ ACME_POINTS | upcase }} {% if ACME_POINTS == "7 <p1>" %}lucky{% endif %}</p>',
};
const pointsOf = (recipients: readonly TagRecipient[]) =>
  Object.fromEntries(recipients.map(({ subscriberUid, email }) => [subscriberUid, `7 <${email.split('@')[0]}>`]));

test('each recipient gets the own value, also in Liquid; the plugin is asked once for all of them', async () => {
  const list = await newList();
  for (const name of ['p1', 'p2', 'p3']) await add(list, `${name}@tags.example`, { FIRST_NAME: name });
  const asked: (readonly TagRecipient[])[] = [];
  plugin('acme/points', {
    async values(recipients, message) {
      asked.push(recipients);
      expect(message).toMatchObject({ listUid: list.uid, campaignUid: expect.any(String) });
      return pointsOf(recipients);
    },
  });
  const campaign = await newCampaign(list, TEXTS);
  expect(await preview(campaign)).toContain('100');
  expect(asked).toEqual([]);
  expect(await preview(campaign, '?subscriber=p1@tags.example')).toContain('title="7 &lt;p1&gt;">7 &lt;P1&gt; lucky');
  await call('POST', `/campaigns/${campaign}/test`, { emails: ['p2@tags.example'] });
  expect((await mailTo('p2@tags.example')).subject).toBe('[Test] 7 <p2> for you');
  asked.length = 0;
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.map(({ email, fields }) => [email, fields['FIRST_NAME']])).toEqual([
    ['p1@tags.example', 'p1'],
    ['p2@tags.example', 'p2'],
    ['p3@tags.example', 'p3'],
  ]);
  for (const name of ['p1', 'p3'])
    expect(await mailTo(`${name}@tags.example`)).toMatchObject({ subject: `7 <${name}> for you` });
});

test('a plugin that fails or has no value never stops a campaign: the fallback is used', async () => {
  const list = await newList();
  for (const name of ['p1', 'p2']) await add(list, `${name}@fails.example`);
  const asked: string[] = [];
  const answers: [string, MergeTag['values']][] = [
    ['throws', () => Promise.reject(new Error('Its own fault.'))],
    ['nothing', () => null as never],
    ['others', () => ({ unknown: 'x' })],
    ['wrong', (recipients) => Object.fromEntries(recipients.map(({ subscriberUid }) => [subscriberUid, {} as never]))],
  ];
  for (const [name, values] of answers) {
    plugin(`acme/${name}`, {
      values(recipients, message) {
        asked.push(name);
        return values(recipients, message);
      },
    });
    const campaign = await newCampaign(list, { ...TEXTS, subject: `${name}: {ACME_POINTS}` });
    await call('POST', `/campaigns/${campaign}/run`);
    await done(campaign);
    for (const reader of ['p1', 'p2'])
      expect((await mailTo(`${reader}@fails.example`)).subject).toBe(`${name}: no points`);
    app.hooks.remove(live.pop() ?? '');
  }
  expect(asked).toEqual(answers.map(([name]) => name));
});

test('without the value of a required tag a recipient waits, and gets the message later', async () => {
  const list = await newList();
  for (const name of ['p1', 'p2']) await add(list, `${name}@waits.example`);
  let isReady = false;
  plugin('acme/required', {
    isRequired: true,
    values: (recipients) => pointsOf(recipients.filter(({ email }) => isReady || email.startsWith('p1'))),
  });
  const campaign = await newCampaign(list, TEXTS);
  await call('POST', `/campaigns/${campaign}/run`);
  await mailTo('p1@waits.example');
  const rowOf = async () => {
    const log = await call('GET', `/campaigns/${campaign}/tracking-log/download`);
    return log.text.split('\n').find((line) => line.includes('p2@waits.example'));
  };
  await until(async () => ((await rowOf())?.includes('waits for a plugin: acme/required') ? true : undefined));
  expect(await mailsTo('p2@waits.example')).toEqual([]);
  // The mail is there a moment before its outcome is written.
  const figures = async () => field(await call('GET', `/campaigns/${campaign}`), 'statistics');
  await expect.poll(figures).toMatchObject({ subscriber_count: 2, sent_count: 1, pending_count: 1 });
  isReady = true;
  await call('POST', `/campaigns/${campaign}/pause`);
  await app.ctx.db.execute(
    sql`UPDATE hot.delivery SET not_before = NULL WHERE state = 'queued' AND email = 'p2@waits.example'`,
  );
  await call('POST', `/campaigns/${campaign}/resume`);
  await done(campaign);
  expect((await mailTo('p2@waits.example')).subject).toBe('7 <p2> for you');
});

test('without the plugin the tag stays as it is written, and the check of the campaign says so', async () => {
  const list = await newList();
  const campaign = await newCampaign(list, TEXTS);
  const answer = await call('GET', `/campaigns/${campaign}/preview`);
  expect(field(answer, 'preview', 'subject')).toBe('{ACME_POINTS} for you');
  expect(JSON.stringify(field(answer, 'preview', 'warnings'))).toContain('{ACME_POINTS}');
  plugin('acme/points', { values: pointsOf });
  const after = await call('GET', `/campaigns/${campaign}/preview`);
  expect(field(after, 'preview', 'subject')).toBe('100 for you');
  expect(JSON.stringify(field(after, 'preview', 'warnings'))).not.toContain('ACME_POINTS');
});

test('a tag without the prefix of its vendor, twice, or without a function is refused', () => {
  const entry = { tag: 'ACME_POINTS', title: 'Points', values: pointsOf };
  const refused = (...entries: object[]) => {
    try {
      withHooks(app.hooks, {
        name: 'acme/refused',
        boot: (hooks) => entries.forEach((one) => hooks.add('merge_tag', one as MergeTag)),
      });
    } catch (error) {
      return String(error);
    } finally {
      app.hooks.remove('acme/refused');
    }
    return 'taken';
  };
  expect(refused({ ...entry, tag: 'OTHER_POINTS' })).toContain('"tag": must begin with ACME_.');
  expect(refused(entry, entry)).toContain('the plugin has two merge tags ACME_POINTS.');
  expect(refused({ ...entry, values: 7 })).toContain('"values": must be a function.');
  expect(refused(entry)).toBe('taken');
});
