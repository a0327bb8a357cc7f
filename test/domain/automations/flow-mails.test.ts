/**
 * Flows that send mails: each person gets each mail once, checked when it is enqueued and when it is handed over (decisions D78, D80,
 * D81), with the plan's credits and the pace of the server.
 */
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { unsubscribePerson } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { FlowFaultsError } from '../../../src/domain/automations/automation-errors.ts';
import { resumeMails } from '../../../src/domain/automations/stopping/resume-mails.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { enqueueFlowNotices } from '../../../src/domain/delivery/flow-mails/flow-notices.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { givePlan } from '../../support/plans.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';
import { messageRows, runSender } from '../../support/message-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
// Long after the clock of the database, by which steps are late.
const world = await startFlowMailWorld({ smtpPort: smtp.port, beginsAt: '2126-11-27T08:00:00Z' });
const { ctx, list } = world;
afterAll(() => smtp[Symbol.asyncDispose]());

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const triggers = [{ type: 'execute' }];
const mailsTo = async (personId: bigint) => {
  const email = (await world.personRow(personId))?.email;
  return smtp.accepted.filter(({ to }) => to === email).map(({ content }) => content);
};
const text = (content = '') => content.replaceAll('=\r\n', '');

test('two mails with a wait: with values of the person and the payload, escaped, and a way to unsubscribe', async () => {
  const hello = await world.template({
    subject: 'Hello {FIRST_NAME}',
    html: '<p>{{ payload.cart }} for {FIRST_NAME} <a href="https://shop.example/cart">go</a></p>',
  });
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'first', type: 'send_mail', templateUid: hello },
      { id: 'rest', type: 'wait', for: { days: 1 } },
      { id: 'second', type: 'send_mail', templateUid: hello, subject: 'Still there, {FIRST_NAME}?' },
    ],
    edges: line('start', 'first', 'rest', 'second'),
  });
  const person = await world.person({ fieldValues: { FIRST_NAME: '{{ 1 | plus: 1 }}<b>' } });
  await world.enter(flow, [person], { payload: { cart: '<script>{{ subscriber.email }}' } });
  await world.run('2126-11-27T09:00:00Z');
  await world.run();
  await using _sender = await runSender(ctx);
  expect(await world.mailsSettled()).toMatchObject([{ state: 'sent', purpose: 'flow' }]);
  await world.run('2126-11-28T09:00:00Z');
  expect(await world.mailsSettled()).toMatchObject([{ state: 'sent' }, { state: 'sent' }]);
  const [first, second] = (await mailsTo(person)).map(text);
  expect(first).toContain('&lt;script&gt;{{ subscriber.email }}');
  expect(first).toContain('{{ 1 | plus: 1 }}&lt;b&gt;');
  expect(first).not.toContain('<p><script>');
  expect(first).toMatch(/^List-Unsubscribe:\s+<http/m);
  expect(first).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/m);
  expect(first).toContain('/o/');
  expect(second).toContain('Still there');
  expect(await world.steps(person)).toEqual([
    ...['first entered execute', 'first passed next', 'rest passed next', 'second passed next'],
  ]);
  const ids = [first, second].map((content) => /^Message-ID: (.+)$/im.exec(content ?? '')?.[1]);
  expect(new Set(ids).size).toBe(2);
});

test('who left, is suppressed or had the same mail gets none, and the history says why', async () => {
  const templateUid = await world.template({ subject: 'Once', html: '<p>Once</p>' });
  const nodes = [
    { id: 'mail', type: 'send_mail', templateUid, notAgainWithinDays: 3 },
    { id: 'rest', type: 'wait', for: { days: 2 } },
    { id: 'again', type: 'send_mail', templateUid, notAgainWithinDays: 3 },
    { id: 'leave', type: 'unsubscribe' },
    { id: 'late', type: 'send_mail', templateUid },
    { id: 'bye', type: 'send_mail', templateUid, isGoodbye: true },
  ];
  const flow = await world.publish({
    triggers,
    nodes,
    edges: line('start', 'mail', 'rest', 'again', 'leave', 'late', 'bye'),
  });
  const [stays, bounced, leaves] = [await world.person(), await world.person(), await world.person()];
  await world.enter(flow, [stays, bounced, leaves]);
  await world.suppress(bounced);
  await world.run('2126-11-29T08:00:00Z');
  expect(await world.steps(bounced)).toEqual(['mail entered execute', 'mail left suppressed']);
  // Between the step and the hand-over.
  await unsubscribePerson(ctx, { customerId: list.customerId, listId: list.id, id: leaves }, 'link');
  await using _sender = await runSender(ctx);
  await world.mailsSettled();
  expect(await mailsTo(leaves)).toEqual([]);
  const email = (await world.personRow(leaves))?.email;
  expect((await messageRows(ctx, 'flow %')).filter((one) => one.email === email)).toMatchObject([
    { state: 'skipped', reason: 'unsubscribed' },
  ]);
  await world.run('2126-12-01T08:00:00Z');
  expect((await world.steps(stays)).slice(2)).toEqual([
    'rest passed next',
    'again passed next sent_recently',
    'leave passed next',
    'late passed next unsubscribed',
    'bye passed next',
  ]);
  await world.mailsSettled();
  expect(await mailsTo(stays)).toHaveLength(2);
});

test('a stopped flow sends nothing more, not even what was enqueued, and a deleted template is a fault that the flow may catch', async () => {
  const templateUid = await world.template({ subject: 'Held', html: '<p>Held</p>' });
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'mail', type: 'send_mail', templateUid },
      { id: 'rest', type: 'wait', for: { hours: 1 } },
      { id: 'gone', type: 'send_mail', templateUid },
      { id: 'mark', type: 'add_tag', tag: 'no mail' },
    ],
    edges: [...line('start', 'mail', 'rest', 'gone'), { from: 'gone', port: 'error', to: 'mark' }],
  });
  const person = await world.person();
  await world.enter(flow, [person]);
  await world.run('2126-12-02T08:00:00Z');
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  await using _sender = await runSender(ctx);
  const email = (await world.personRow(person))?.email;
  const mine = async () => (await messageRows(ctx, 'flow %')).filter((one) => one.email === email);
  await expect
    .poll(mine, { timeout: 120_000 })
    .toMatchObject([{ state: 'queued', reason: 'flow_stopped', waits: true }]);
  expect(await mailsTo(person)).toEqual([]);
  // However long it is stopped: that time does not make its mails older.
  await ctx.db.execute(
    sql`WITH m AS (UPDATE hot.message SET created_at = now() - interval '5 days' WHERE cause LIKE 'flow %' AND customer_id = ${list.customerId} RETURNING id),
             d AS (UPDATE hot.delivery d SET updated_at = now() - interval '5 days' FROM m WHERE d.occurrence = m.id)
        UPDATE hot.message_queue SET not_before = now() WHERE customer_id = ${list.customerId}`,
  );
  const ageDays = () =>
    queryRows<{ days: number }>(
      ctx.db,
      sql`SELECT (extract(epoch FROM now() - coalesce(m.age_from, m.created_at)) / 86400)::int AS days
            FROM hot.message m JOIN hot.message_queue q ON q.message_id = m.id WHERE q.owner IS NULL`,
    );
  await expect.poll(ageDays, { timeout: 120_000 }).toEqual([{ days: 0 }]);
  expect(await mine()).toMatchObject([{ state: 'queued', reason: 'flow_stopped', waits: true }]);
  await setAutomationStatus(ctx, flow.uid, 'active');
  // The job of the activation lets it go at once.
  const keys = { customerId: list.customerId, automationId: flow.key.automationId };
  await resumeMails(ctx, { ...keys, automationId: 0n }, () => false);
  expect(await mine(), 'another flow’s are not let go').toMatchObject([{ state: 'queued' }]);
  await resumeMails(ctx, keys, () => false);
  await world.mailsSettled();
  expect(await mailsTo(person)).toHaveLength(1);
  await ctx.db.execute(sql`DELETE FROM template WHERE uid = ${templateUid}`);
  await world.run('2126-12-02T10:00:00Z');
  expect(await world.steps(person)).toContain('gone passed error template_deleted');
  expect(await world.personRow(person)).toMatchObject({ tags: ['no mail'] });
});

test('conditions ask for people’s opens and clicks of the mail of this run', async () => {
  const templateUid = await world.template({
    subject: 'Look',
    html: '<p><a href="https://shop.example/Offer?a=1">offer</a> <a href="https://shop.example/news">news</a></p>',
  });
  const asks = [
    ['opened', { opened: { mail: 'mail' } }],
    ['machine', { opened: { mail: 'mail', machines: true } }],
    ['clicked', { clicked: { mail: 'mail' } }],
    ['offer', { clicked: { mail: 'mail', linkContains: 'offer' } }],
  ] as const;
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'mail', type: 'send_mail', templateUid },
      { id: 'rest', type: 'wait', for: { days: 1 } },
      ...asks.map(([id, question]) => ({ id, type: 'condition', if: question })),
      ...asks.map(([id]) => ({ id: `is-${id}`, type: 'add_tag', tag: id })),
    ],
    edges: [
      ...line('start', 'mail', 'rest', 'opened'),
      ...asks.flatMap(([id], no) => {
        const after = asks[no + 1]?.[0];
        return [
          { from: id, port: 'yes', to: `is-${id}` },
          ...(after
            ? [
                { from: id, port: 'no', to: after },
                { from: `is-${id}`, to: after },
              ]
            : []),
        ];
      }),
    ],
  });
  const people = [await world.person(), await world.person(), await world.person(), await world.person()];
  await world.enter(flow, people);
  await world.run('2126-12-03T08:00:00Z');
  await using _sender = await runSender(ctx);
  await world.mailsSettled();
  const [, machine, news, offer] = people;
  const act = (person: bigint | undefined, [opens, humanOpens, clicks]: readonly number[], url = '') =>
    ctx.db.execute(
      sql`WITH m AS (SELECT * FROM hot.message WHERE recipient_id = ${person ?? 0n} AND purpose = 'flow'),
               a AS (INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, occurrence, open_count, human_opens, click_count, human_clicks)
                     SELECT customer_id, source_kind, source_id, recipient_id, id, ${opens}, ${humanOpens}, ${clicks}, ${clicks} FROM m)
          INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, occurrence, link_no, is_machine, url)
          SELECT now(), customer_id, source_kind, source_id, recipient_id, id, 0, false, ${url} FROM m WHERE ${url} <> ''`,
    );
  await act(machine, [1, 0, 0]);
  await act(news, [0, 0, 1], 'https://shop.example/news');
  await act(offer, [2, 1, 1], 'https://shop.example/Offer?a=1');
  await world.run('2126-12-04T08:00:00Z');
  const tags = await Promise.all(people.map(async (id) => (await world.personRow(id))?.tags));
  expect(tags).toEqual([[], ['machine'], ['opened', 'machine', 'clicked'], ['opened', 'machine', 'clicked', 'offer']]);
});

test('a flow with a template that is not there, or of another customer, or with a faulty text is not published', async () => {
  const faulty = await world.template({ subject: 'x', html: '<p>{{ subscriber.email | </p>' });
  const other = await startOther();
  const nodes = [
    { id: 'a', type: 'send_mail', templateUid: '0123456789abc' },
    { id: 'b', type: 'send_mail', templateUid: faulty },
    { id: 'c', type: 'send_mail', templateUid: other },
    { id: 'd', type: 'notify', to: ['stranger@example.net'], subject: 'x', text: 'y' },
  ];
  const error = await world
    .publish({ triggers, nodes, edges: line('start', 'a', 'b', 'c', 'd') })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FlowFaultsError);
  const faults = error instanceof FlowFaultsError ? error.faults : [];
  expect(faults.map(({ node, code, field }) => [node, code, field])).toEqual([
    ['a', 'unknown_template', 'templateUid'],
    ['b', 'template_fault', 'templateUid'],
    ['c', 'unknown_template', 'templateUid'],
    ['d', 'unknown_user', 'to'],
  ]);
});

async function startOther(): Promise<string> {
  const uid = '1234567890abc';
  await ctx.db.execute(
    sql`WITH c AS (INSERT INTO customer (uid, name) VALUES ('9876543210abc', 'Other') RETURNING id)
        INSERT INTO template (customer_id, uid, name, subject, html) SELECT id, ${uid}, 'Theirs', 'x', '<p>x</p>' FROM c`,
  );
  return uid;
}

test('quiet hours of the list hold mails back by each person’s clock, and who unsubscribes meanwhile leaves at once', async () => {
  await ctx.db.execute(
    sql`UPDATE mail_list SET quiet_hours = '{"from": "21:00", "to": "08:00"}', timezone = 'UTC', timezone_tag = 'ZONE' WHERE id = ${list.id}`,
  );
  const templateUid = await world.template({ subject: 'Quiet', html: '<p>Quiet</p>' });
  const receipt = await world.template({ subject: 'Receipt', html: '<p>Receipt</p>', kind: 'transactional' });
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'receipt', type: 'send_mail', templateUid: receipt },
      { id: 'mail', type: 'send_mail', templateUid },
    ],
    edges: line('start', 'receipt', 'mail'),
  });
  const people = [await world.person(), await world.person(), await world.person()];
  const [here, there, leaves] = people;
  await ctx.db.execute(
    sql`UPDATE subscriber SET fields = fields || '{"ZONE": "Asia/Tokyo"}' WHERE id = ${there ?? 0n}`,
  );
  await world.run('2126-12-04T23:30:00Z');
  await world.enter(flow, people);
  await world.run();
  expect(await world.steps(here ?? 0n)).toEqual([
    ...['receipt entered execute', 'receipt passed next', 'mail stays quiet_hours'],
  ]);
  expect(await world.steps(there ?? 0n)).toEqual([
    'receipt entered execute',
    'receipt passed next',
    'mail passed next',
  ]);
  await unsubscribePerson(ctx, { customerId: list.customerId, listId: list.id, id: leaves ?? 0n }, 'link');
  await world.follow();
  expect(await world.steps(leaves ?? 0n)).toContain('mail left unsubscribed');
  expect(await world.run('2126-12-05T07:59:59Z')).toBe(0);
  await world.run('2126-12-05T09:00:00Z');
  expect((await world.steps(here ?? 0n)).at(-1)).toBe('mail passed next');
  expect(await world.counts(flow)).toEqual({ receipt: 'entered 3, passed 3', mail: 'entered 3, passed 2, left 1' });
  // What was enqueued in time waits when it has become quiet since; the clock here is the database's.
  await ctx.db.execute(
    sql`UPDATE mail_list SET timezone_tag = NULL, quiet_hours = jsonb_build_object(
          'from', to_char(now() AT TIME ZONE 'UTC' - interval '2 hours', 'HH24:MI'), 'to', to_char(now() AT TIME ZONE 'UTC' + interval '2 hours', 'HH24:MI'))
         WHERE id = ${list.id}`,
  );
  await using _sender = await runSender(ctx);
  const states = async () =>
    (await messageRows(ctx, 'flow %'))
      .slice(-5)
      .map(({ cause, state, reason }) => `${cause.split(' ')[2]} ${state} ${reason}`);
  await expect
    .poll(async () => (await states()).toSorted(), { timeout: 120_000 })
    .toEqual([
      ...['mail queued quiet_hours', 'mail queued quiet_hours'],
      ...['receipt sent null', 'receipt sent null', 'receipt skipped unsubscribed'],
    ]);
  await ctx.db.execute(sql`UPDATE mail_list SET quiet_hours = NULL WHERE id = ${list.id}`);
  await ctx.db.execute(sql`UPDATE hot.message_queue SET not_before = now() WHERE customer_id = ${list.customerId}`);
  await world.mailsSettled();
});

test('the team is told once for all who come at the same time', async () => {
  await ctx.db.execute(sql`UPDATE customer SET is_operator = (id = ${list.customerId})`);
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'tell', type: 'notify', subject: 'Leads', text: 'They clicked.\n\nCall them: {{ x }}.' }],
    edges: line('start', 'tell'),
  });
  const people = await world.people(60);
  await world.enter(flow, people);
  await world.run('2126-12-05T10:00:00Z');
  await using _sender = await runSender(ctx);
  await world.mailsSettled();
  const told = smtp.accepted
    .filter(({ content }) => content.includes('Subject: Leads'))
    .map(({ content }) => text(content));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain('Call them: {{ x }}.');
  expect(told[0]).toContain('And 10 more.');
  // Of a customer and hour a hundred; what is too much is passed over, and the next hour has its own.
  const late = await world.people(1);
  const notices = () => messageRows(ctx, `flow notice ${list.customerId} %`);
  expect(await notices()).toHaveLength(1);
  const at = new Date('2126-12-05T11:30:00Z');
  const more = Array.from({ length: 99 }, () => ({ to: 'team@house.test', subject: 'More', paragraphs: ['x'] }));
  expect(await enqueueFlowNotices(ctx, { customerId: list.customerId, at }, more)).toBe(true);
  expect(await enqueueFlowNotices(ctx, { customerId: list.customerId, at }, more.slice(0, 2))).toBe(false);
  expect(await enqueueFlowNotices(ctx, { customerId: list.customerId, at }, more.slice(0, 1))).toBe(true);
  expect(await notices()).toHaveLength(101);
  await world.enter(flow, late);
  await world.run('2126-12-05T11:31:00Z');
  expect(await world.steps(late[0] ?? 0n)).toContain('tell passed next too_many_notices');
  await world.mailsSettled();
});

test('mails of flows take the credits of the plan, by two processes none too many (E20), and wait when they are used up', async () => {
  await ctx.db.execute(sql`UPDATE customer SET is_operator = false`);
  const before = await world.counted();
  await givePlan(ctx.db, list.customerId, { sending_server_option: 'own', email_max: '23' });
  const templateUid = await world.template({ subject: 'Credits', html: '<p>Credits</p>' });
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'mail', type: 'send_mail', templateUid }],
    edges: line('start', 'mail'),
  });
  const people = await world.people(60);
  await world.enter(flow, people);
  await world.run('2126-12-06T08:00:00Z');
  await using _sender = await runSender(ctx);
  await using _other = await runSender(ctx);
  const states = async () =>
    Object.entries(
      Object.groupBy((await messageRows(ctx, 'flow %')).slice(-60), ({ state, reason }) => `${state} ${reason ?? ''}`),
    )
      .map(([state, rows = []]) => `${state} ${rows.length}`)
      .toSorted();
  await expect
    .poll(states, { timeout: 120_000 })
    .toEqual(['queued plan_credits 37', expect.stringMatching(/^sent .* ?23$/)]);
  expect((await world.counted())?.sent).toBe((before?.sent ?? 0) + 23);
});

test('who has reached a goal or an exit that no follower saw, as in a pause, gets no mail any more', async () => {
  const templateUid = await world.template({ subject: 'Your cart', html: '<p>Your cart</p>' });
  const nodes = [
    { id: 'rest', type: 'wait', for: { days: 1 } },
    { id: 'cart', type: 'send_mail', templateUid },
  ];
  const flow = await world.publish({
    ...{ triggers, nodes, edges: line('start', 'rest', 'cart') },
    goals: [{ id: 'bought', event: { type: 'event', name: 'order' } }],
    exits: [{ id: 'staff', person: { field: { tag: 'FIRST_NAME', text: { is: 'Staff' } } } }],
  });
  const [buys, works, bought, stays] = [
    await world.person(),
    await world.person(),
    await world.person(),
    await world.person(),
  ];
  await world.enter(flow, [buys, works, bought, stays]);
  const order = { kind: 'event', name: 'order' } as const;
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { ...order, personId: buys, at: world.now() },
    { ...order, personId: bought, at: new Date(world.now().getTime() - 1) },
  ]);
  await ctx.db.execute(sql`UPDATE subscriber SET fields = '{"FIRST_NAME":"Staff"}' WHERE id = ${works}`);
  await world.run(new Date(world.now().getTime() + 25 * 3_600_000).toISOString());
  const last = async (personId: bigint) => (await world.steps(personId)).at(-1);
  expect(await Promise.all([buys, works, bought, stays].map(last))).toEqual([
    ...['cart left goal:bought', 'cart left exit:staff', 'cart passed next', 'cart passed next'],
  ]);
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});
