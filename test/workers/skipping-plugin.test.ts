/** The FILTER before_message_sent on a running product: who gets no mail because of a plugin, and where it is said why. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { FilterCallback, MessageToSend, RecipientCheck } from '../../src/plugin-api/index.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { withHooks } from '../support/with-hooks.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { call, mailsTo, newList, newCampaign, add, done } = mailWorld(app, owner);
const { hooks } = app;

const live: string[] = [];
afterEach(() => live.splice(0).forEach((name) => hooks.remove(name)));

function plugin(name: string, callback: FilterCallback<'before_message_sent'>): void {
  live.push(withHooks(hooks, { name, boot: (on) => on.modify('before_message_sent', callback) }));
}

/** Returns what a plugin may not: its faults are the matter of a test. */
const wrong = (make: (message: MessageToSend) => unknown) => make as FilterCallback<'before_message_sent'>;

const ROW = `nodes { email state attempts reason reply }`;
async function rowsOf(campaign: string): Promise<Record<string, unknown>> {
  const body = { query: `{ campaign(uid: "${campaign}") { ... on Campaign { deliveries(first: 50) { ${ROW} } } } }` };
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
    body: JSON.stringify(body),
  });
  const { data } = (await answer.json()) as { data: { campaign: { deliveries: { nodes: { email: string }[] } } } };
  return Object.fromEntries(data.campaign.deliveries.nodes.map((node) => [node.email, node]));
}

async function listOf(count: number, domain: string) {
  const list = await newList();
  for (let number = 1; number <= count; number++) await add(list, `p${number}@${domain}`);
  return list;
}

/** Plugins with a logged fault; one that repeats itself is logged once. */
const faulty = () =>
  new Set(
    app.logged
      .map((line): Record<string, unknown> => JSON.parse(line))
      .flatMap(({ event, plugin: name }) => (event === 'hook.listener_failed' ? [name] : [])),
  );

test('skips a message, and says in the ledger, over REST and GraphQL which plugin did and why', async () => {
  const list = await listOf(4, 'skipped.example');
  const seen: MessageToSend[] = [];
  plugin('acme/pause', (message) => {
    seen.push(message);
    if (!message.email.startsWith('p2@')) return message;
    return { ...message, email: 'other@skipped.example', skip: { reason: ' Bought\r\nyesterday. ' } };
  });
  const campaign = await newCampaign(list);
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  for (const number of [1, 3, 4]) expect(await mailsTo(`p${number}@skipped.example`)).toHaveLength(1);
  for (const name of ['p2', 'other']) expect(await mailsTo(`${name}@skipped.example`)).toHaveLength(0);
  expect(await rowsOf(campaign)).toMatchObject({
    'p1@skipped.example': { state: 'sent', reason: null },
    'p2@skipped.example': {
      ...{ state: 'skipped', attempts: 0, reason: 'skipped by a plugin', reply: 'acme/pause: Bought yesterday.' },
    },
  });
  const log = await call('GET', `/campaigns/${campaign}/tracking-log/download`);
  expect(log.text).toContain('skipped by a plugin: acme/pause: Bought yesterday.');
  const figures = field(await call('GET', `/campaigns/${campaign}`), 'statistics');
  expect(figures).toMatchObject({ subscriber_count: 4, sent_count: 3, skipped_count: 1 });
  expect(seen[0]).toEqual({
    email: expect.stringMatching(/^p\d@skipped\.example$/),
    subscriberUid: expect.stringMatching(/^\w+$/),
    ...{ campaignUid: campaign, listUid: list.uid, customerUid: expect.stringMatching(/^\w+$/), skip: null },
  });
  expect(Object.isFrozen(seen[0])).toBe(true);
});

test('nothing that a faulty plugin does changes who gets mail: it is counted, and the others are heard', async () => {
  const list = await listOf(3, 'faulty.example');
  plugin('acme/a-skips', (message) =>
    message.email.startsWith('p1@') ? { ...message, skip: { reason: 'x'.repeat(5_000) } } : message,
  );
  plugin('acme/b-throws', () => {
    throw new Error('Its own fault.');
  });
  plugin(
    'acme/c-wrong',
    wrong((message) => ({ ...message, skip: { reason: 7 } })),
  );
  plugin(
    'acme/d-text',
    wrong(() => 'skip'),
  );
  plugin(
    'acme/e-late',
    wrong((message) => Promise.resolve({ ...message, skip: { reason: 'late' } })),
  );
  plugin('acme/f-writes', (message) => Object.assign(message, { skip: { reason: 'written' } }));
  const campaign = await newCampaign(list);
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  const names = ['b-throws', 'c-wrong', 'd-text', 'e-late', 'f-writes'].map((name) => `acme/${name}`);
  expect(faulty()).toEqual(new Set(names));
  const rows = await rowsOf(campaign);
  expect(rows).toMatchObject({
    'p1@faulty.example': { state: 'skipped', reply: `acme/a-skips: ${'x'.repeat(200)}` },
    ...{ 'p2@faulty.example': { state: 'sent' }, 'p3@faulty.example': { state: 'sent' } },
  });
  for (const number of [2, 3]) expect(await mailsTo(`p${number}@faulty.example`)).toHaveLength(1);
});

test('the audience is the sum of all states at every moment while half of it is skipped', async () => {
  const list = await newList();
  await app.ctx.db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
        SELECT ${owner.customerId}, ${list.id}, e, e, 'subscribed', '{}', '{}' FROM (SELECT 's' || n || '@sum.example' AS e FROM generate_series(1, 1500) n) p`,
  );
  plugin('acme/half', (message) =>
    /[02468]@/.test(message.email) ? { ...message, skip: { reason: 'An even number.' } } : message,
  );
  const campaign = await newCampaign(list);
  await call('POST', `/campaigns/${campaign}/run`);
  let looks = 0;
  let isDone = false;
  const ended = done(campaign).then(() => (isDone = true));
  while (!isDone) {
    const [sums] = await queryRows<{ audience: number; sum: number; rows: number }>(
      app.ctx.db,
      sql`SELECT k.audience, k.open + k.sent + k.failed + k.skipped + k.suppressed + k.unknown AS sum,
                 (SELECT count(*) FROM hot.delivery d WHERE d.source_kind = 1 AND d.source_id = c.id)::int AS rows
            FROM campaign c JOIN hot.delivery_counter k ON k.customer_id = c.customer_id AND k.source_kind = 1 AND k.source_id = c.id WHERE c.uid = ${campaign}`,
    );
    if (sums) expect([sums.sum, sums.rows]).toEqual([sums.audience, sums.audience]);
    looks += 1;
    await sleep(10);
  }
  await ended;
  expect(looks).toBeGreaterThan(3);
  const figures = field(await call('GET', `/campaigns/${campaign}`), 'statistics');
  expect(figures).toMatchObject({ subscriber_count: 1_500, sent_count: 750, skipped_count: 750 });
});

test('a plugin may look people up first: it is asked once for a batch, and fails without harm', async () => {
  const list = await newList();
  await app.ctx.db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
        SELECT ${owner.customerId}, ${list.id}, e, e, 'subscribed', '{}', '{}' FROM (SELECT 'c' || n || '@check.example' AS e FROM generate_series(1, 1200) n) p`,
  );
  const asked: number[] = [];
  const check = (name: string, skips: RecipientCheck['skips']): void => {
    live.push(withHooks(hooks, { name, boot: (on) => on.add('recipient_check', { skips }) }));
  };
  check('acme/b-debts', async (people, message) => {
    asked.push(people.length);
    expect(message).toMatchObject({ listUid: list.uid, customerUid: expect.any(String) });
    await sleep(10);
    const debtors = people.filter(({ email }) => !email.startsWith('c7@'));
    return { nobody: 'x', ...Object.fromEntries(debtors.map(({ subscriberUid }) => [subscriberUid, ' Owes\nus. '])) };
  });
  check('acme/c-throws', () => {
    throw new Error('Its own fault.');
  });
  // One wrong reason makes all of them void.
  const wrong = { c7: 7 } as unknown as Record<string, string>;
  check('acme/d-wrong', (people) =>
    Object.fromEntries(people.map(({ subscriberUid }) => [subscriberUid, wrong['c7'] ?? ''])),
  );
  const campaign = await newCampaign(list);
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  expect(await mailsTo('c7@check.example')).toHaveLength(1);
  const figures = field(await call('GET', `/campaigns/${campaign}`), 'statistics');
  expect(figures).toMatchObject({ subscriber_count: 1200, sent_count: 1, skipped_count: 1199 });
  expect(asked.reduce((sum, count) => sum + count)).toBe(1200);
  expect(asked.length).toBeLessThan(20);
  const log = await call('GET', `/campaigns/${campaign}/tracking-log/download`);
  expect(log.text).toContain('skipped by a plugin: acme/b-debts: Owes us.');
  for (const name of ['acme/c-throws', 'acme/d-wrong']) expect(faulty()).toContain(name);
});
