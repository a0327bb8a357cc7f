/**
 * Frequency caps of a running product (D82): settings over REST, campaigns and automations through workers to an SMTP server. Who has had as many
 * messages as a cap allows waits until it allows another, or is skipped.
 */
import { afterAll, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { advanceDue } from '../../src/domain/automations/engine/advance-due.ts';
import { newUid } from '../../src/lib/ids.ts';
import { automationRest, line } from '../support/automation-rest.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer();
const app = await startRestApp({ ROLES: 'web,worker,cron', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
afterAll(() => smtp[Symbol.asyncDispose]());
const { db } = app.ctx;
const DAY_MS = 86_400_000;
/** What REST says of `frequency_cap`. */
const REACHED = 'the frequency cap is reached';
const WAIT = { timeout: 120_000, interval: 50 };
const sentTo = (email: string) =>
  smtp.accepted.filter(({ to }) => to === email).map(({ content }) => subjectOf(content));
const subjectOf = (content: string) => /^Subject: (.*)\r$/m.exec(content)?.[1];

/** A customer with a server of its own, whose people nobody else has. */
async function capWorld() {
  const tenant = await app.newTenant();
  const { customerId } = tenant;
  await db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, status, default_from_email)
    VALUES (${customerId}, ${newUid()}, 'Server', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port: smtp.port, encryption: 'none' })}::jsonb, 'active', 'news@sender.example')`);
  const mail = mailWorld(app, tenant);
  const { call } = mail;
  const address = (name: string) => `${name}-${customerId}@person.example`;
  const set = async (path: string, cap: object | '') => {
    const answer = await call('PATCH', path, { frequency_cap: cap });
    expect(answer.status, answer.text).toBe(200);
  };
  return {
    ...{ ...mail, tenant, address },
    listCap: (list: { uid: string }, cap: object | '') => set(`/lists/${list.uid}`, cap),
    customerCap: (cap: object | '') => set('/frequency_cap', cap),
    addAll: (list: { uid: string }, ...names: string[]) =>
      Promise.all(names.map((name) => mail.add(list, address(name)))),
    /** A campaign with this subject, started. */
    async send(list: { uid: string }, subject: string): Promise<string> {
      const uid = await mail.newCampaign(list, { subject });
      expect((await call('POST', `/campaigns/${uid}/run`)).status).toBe(200);
      return uid;
    },
    async figures(uid: string) {
      const statistics = field(await call('GET', `/campaigns/${uid}`), 'statistics') as Record<string, number>;
      return ['pending', 'sent', 'skipped'].map((name) => `${name} ${statistics[`${name}_count`]}`).join(', ');
    },
    /** Steps and mails of automations on which somebody works. */
    async underWay(): Promise<number> {
      const [found] = await queryRows<{ count: number }>(
        db,
        sql`SELECT (SELECT count(*) FROM hot.flow_run r WHERE r.customer_id = ${customerId} AND r.wake_at <= now())::int
                 + (SELECT count(*) FROM hot.message_queue q WHERE q.customer_id = ${customerId} AND (q.owner IS NOT NULL OR q.not_before <= now()))::int AS count`,
      );
      return found?.count ?? 0;
    },
    /** Reasons in its ledger, and the hours until the next look. */
    ledger: (uid: string) =>
      queryRows<{ state: string; reason: string | null; hours: number | null }>(
        db,
        sql`SELECT d.state::text AS state, d.reason, round(extract(epoch FROM d.not_before - now()) / 3600)::int AS hours
              FROM hot.delivery d JOIN campaign c ON c.customer_id = d.customer_id AND c.id = d.source_id AND d.source_kind = 1
             WHERE c.uid = ${uid} ORDER BY d.email`,
      ),
    /** Lets days go by for the caps, and has all that waits looked at. */
    async daysGoBy(days: number) {
      // Whatever is under way is sent or held back first: a worker may hold it back for a day after all others were made due.
      await expect.poll(() => this.underWay(), WAIT).toBe(0);
      await db.execute(
        sql`UPDATE hot.capped_message SET at = at - make_interval(days => ${days}), held_since = held_since - make_interval(days => ${days}) WHERE customer_id = ${customerId}`,
      );
      await db.execute(
        sql`UPDATE hot.delivery SET not_before = now() WHERE customer_id = ${customerId} AND state = 'queued' AND reason = 'frequency_cap'`,
      );
      await db.execute(
        sql`UPDATE hot.message_queue SET not_before = now() WHERE customer_id = ${customerId} AND owner IS NULL`,
      );
      const later = new Date(Date.now() + days * DAY_MS);
      while ((await advanceDue(app.ctx, { now: () => later, isStopping: () => false })) > 0);
    },
    /** While it is paused: the job that each minute looks for campaigns that could go on is not first. */
    async againAfterDays(uid: string, days: number) {
      expect((await call('POST', `/campaigns/${uid}/pause`)).status).toBe(200);
      await this.daysGoBy(days);
      expect((await call('POST', `/campaigns/${uid}/resume`)).status).toBe(200);
    },
  };
}

/** An automation that sends one mail of a template of this kind to whoever is let in. */
async function mailFlow(
  world: Awaited<ReturnType<typeof capWorld>>,
  list: { uid: string },
  subject: string,
  kind = 'marketing',
) {
  const { tenant, call, address } = world;
  const rest = automationRest(app, { token: tenant.token, listUid: list.uid });
  const template = await call('POST', '/templates', { name: subject, subject, html: `<p>${subject}</p>`, kind });
  expect(template.status, template.text).toBe(201);
  const uid = await rest.active({
    triggers: [{ type: 'execute' }],
    nodes: [
      { id: 'mail', type: 'send_mail', templateUid: field(template, 'template_uid') },
      { id: 'mark', type: 'add_tag', tag: subject },
    ],
    edges: line('start', 'mail', 'mark'),
  });
  return {
    async enter(name: string): Promise<string> {
      const entered = await call('POST', `/automations/${uid}/execute`, { email: address(name) });
      expect(entered.status, entered.text).toBe(200);
      return String(field(entered, 'run_uid'));
    },
    async steps(run: string): Promise<string[]> {
      const answer = await call('GET', `/automations/${uid}/runs/${run}`);
      const steps = field(answer, 'steps') as Record<string, string | null>[];
      return steps.map(({ node, what, reason }) => [node, what, reason].filter(Boolean).join(' '));
    },
  };
}

test('a second campaign waits for those who had one until the cap of the list allows it; other lists do not wait', async () => {
  const world = await capWorld();
  const { address, figures, statusOf, done } = world;
  const [list, other] = [await world.newList(), await world.newList()];
  await world.listCap(list, { messages: 1, days: 2 });
  await world.addAll(list, 'ann', 'bea');
  await world.addAll(other, 'ann', 'bea');
  await done(await world.send(list, 'First'));
  await world.addAll(list, 'new');
  const second = await world.send(list, 'Second');
  await vi.waitFor(async () => expect(await figures(second)).toBe('pending 2, sent 1, skipped 0'), WAIT);
  expect(await world.ledger(second)).toEqual([
    ...[
      { state: 'queued', reason: 'frequency_cap', hours: 48 },
      { state: 'queued', reason: 'frequency_cap', hours: 48 },
    ],
    { state: 'sent', reason: null, hours: null },
  ]);
  // Its job ends a moment after the last outcome: until then the campaign waits for nothing.
  await vi.waitFor(
    async () =>
      expect(field(await world.call('GET', `/campaigns/${second}`), 'campaign')).toMatchObject({
        status: 'sending',
        status_reason: expect.stringMatching(
          /^No remaining recipient can be tried before .* UTC \(the frequency cap is reached\)\.$/,
        ),
      }),
    WAIT,
  );
  // It blocks nothing: not another list's campaign, which no cap limits.
  await done(await world.send(other, 'Elsewhere'));
  expect(sentTo(address('ann'))).toEqual(['First', 'Elsewhere']);
  await world.againAfterDays(second, 2);
  await done(second);
  expect(await figures(second)).toBe('pending 0, sent 3, skipped 0');
  expect(sentTo(address('ann'))).toEqual(['First', 'Elsewhere', 'Second']);
  expect(sentTo(address('new'))).toEqual(['Second']);
  expect(await statusOf(second)).toBe('done');
});

test('without the cap, or with another one, whoever waits gets the mail at once: of campaigns and of automations', async () => {
  const world = await capWorld();
  const { address } = world;
  const [list, other] = [await world.newList(), await world.newList()];
  await world.customerCap({ messages: 1, days: 3 });
  await world.addAll(list, 'ann', 'bea');
  await world.addAll(other, 'carl');
  await world.done(await world.send(list, 'First'));
  await world.done(await world.send(other, 'First'));
  const second = await world.send(list, 'Second');
  const paused = await world.send(other, 'Paused');
  const flow = await mailFlow(world, list, 'Flow');
  const run = await flow.enter('ann');
  const held = ['mail entered execute', 'mail stays frequency_cap'];
  await vi.waitFor(async () => expect(await flow.steps(run)).toEqual(held), WAIT);
  for (const uid of [second, paused])
    await vi.waitFor(
      async () =>
        expect(await world.ledger(uid)).toContainEqual({ state: 'queued', reason: 'frequency_cap', hours: 72 }),
      WAIT,
    );
  expect((await world.call('POST', `/campaigns/${paused}/pause`)).status).toBe(200);
  // Two are allowed now: one more for each.
  await world.customerCap({ messages: 2, days: 3 });
  await vi.waitFor(() => expect(sentTo(address('bea'))).toEqual(['First', 'Second']), WAIT);
  await vi.waitFor(() => expect(sentTo(address('ann'))).toHaveLength(2), WAIT);
  // What is under way was judged by the cap of before, and is looked at again some seconds later.
  await vi.waitFor(async () => expect(await world.underWay()).toBe(0), WAIT);
  await world.customerCap('');
  await world.done(second);
  await vi.waitFor(() => expect(new Set(sentTo(address('ann')))).toEqual(new Set(['First', 'Second', 'Flow'])), WAIT);
  await vi.waitFor(async () => expect((await flow.steps(run)).slice(-2)).toEqual(['mail passed', 'mark passed']), WAIT);
  // Who waits in a paused campaign gets it when it goes on.
  expect(sentTo(address('carl'))).toEqual(['First']);
  expect((await world.call('POST', `/campaigns/${paused}/resume`)).status).toBe(200);
  await world.done(paused);
  expect(sentTo(address('carl'))).toEqual(['First', 'Paused']);
});

test.each([
  ['the quiet hours of a list are removed', { timezone: 'UTC' }],
  ['it is not quiet in the new time zone of the customer', {}],
])('when %s, campaigns and automations that wait for the end go on', async (_when, zone) => {
  const world = await capWorld();
  const { address, call } = world;
  const list = await world.newList();
  await world.addAll(list, 'ann', 'bea');
  const hourIn = (hours: number) => `${String((new Date().getUTCHours() + 24 + hours) % 24).padStart(2, '0')}:00`;
  // It is quiet for hours yet, whatever the time is.
  const quiet = { from: hourIn(-2), to: hourIn(5), ...zone };
  // Not over REST: the looks after that change would find who waits, too.
  await db.execute(sql`UPDATE mail_list SET quiet_hours = ${JSON.stringify(quiet)}::jsonb WHERE id = ${list.id}`);
  const flow = await mailFlow(world, list, 'Flow');
  const run = await flow.enter('ann');
  const campaign = await world.send(list, 'Campaign');
  await vi.waitFor(
    async () => expect(await flow.steps(run)).toEqual(['mail entered execute', 'mail stays quiet_hours']),
    WAIT,
  );
  const waits = async () =>
    (field(await call('GET', `/campaigns/${campaign}`), 'campaign') as Record<string, string>)['status_reason'];
  await vi.waitFor(async () => expect(await waits()).toMatch(/quiet hours/i), WAIT);
  expect([sentTo(address('ann')), sentTo(address('bea'))]).toEqual([[], []]);
  const customer = field(await app.rest(`/customers/by-email/${world.tenant.email}`), 'customer', 'uid');
  const changed =
    'timezone' in zone
      ? await call('PATCH', `/lists/${list.uid}`, { quiet_hours: '' })
      : await app.rest(`/customers/${String(customer)}`, { method: 'PATCH', body: { timezone: 'Pacific/Auckland' } });
  expect(changed.status, changed.text).toBe(200);
  await world.done(campaign);
  await vi.waitFor(() => expect(new Set(sentTo(address('ann')))).toEqual(new Set(['Campaign', 'Flow'])), WAIT);
  expect(sentTo(address('bea'))).toEqual(['Campaign']);
});

test('who would wait for longer than a cap holds messages is skipped, and the balance says so', async () => {
  const world = await capWorld();
  const list = await world.newList();
  await world.listCap(list, { messages: 2, days: 7, hold_days: 5 });
  await world.addAll(list, 'ann', 'bea');
  await world.done(await world.send(list, 'First'));
  await world.daysGoBy(1);
  await world.done(await world.send(list, 'Second'));
  const third = await world.send(list, 'Third');
  await world.done(third);
  expect(await world.figures(third)).toBe('pending 0, sent 0, skipped 2');
  expect(await world.ledger(third)).toEqual(
    [1, 2].map(() => ({ state: 'skipped', reason: 'frequency_cap', hours: null })),
  );
  // Without the cap everybody gets it; what was counted is counted when there is one again.
  await world.listCap(list, '');
  await world.done(await world.send(list, 'Fourth'));
  await world.listCap(list, { messages: 2, days: 1 });
  await world.daysGoBy(1);
  await world.done(await world.send(list, 'Fifth'));
  expect(sentTo(world.address('ann'))).toEqual(['First', 'Second', 'Fourth', 'Fifth']);
});

test('the cap of the customer counts all lists, by the address', async () => {
  const world = await capWorld();
  const [list, other] = [await world.newList(), await world.newList()];
  await world.customerCap({ messages: 2, days: 7 });
  await world.listCap(other, { messages: 1, days: 90 });
  await world.addAll(list, 'ann', 'bea');
  await world.add(other, world.address('ann').toUpperCase());
  await world.addAll(other, 'carl');
  await world.done(await world.send(list, 'First'));
  await world.done(await world.send(other, 'Second'));
  const third = await world.send(list, 'Third');
  await world.done(third);
  expect(await world.figures(third)).toBe('pending 0, sent 1, skipped 1');
  const fourth = await world.send(other, 'Fourth');
  await world.done(fourth);
  expect(await world.figures(fourth)).toBe('pending 0, sent 0, skipped 2');
  expect(sentTo(world.address('ann'))).toEqual(['First']);
  expect(sentTo(world.address('bea'))).toEqual(['First', 'Third']);
  expect(sentTo(world.address('carl'))).toEqual(['Second']);
});

test('mails of automations wait at their node, and go on without the mail where they would wait for too long', async () => {
  const world = await capWorld();
  const { address } = world;
  const list = await world.newList();
  await world.listCap(list, { messages: 1, days: 7 });
  await world.addAll(list, 'ann', 'bea');
  await world.done(await world.send(list, 'Campaign'));
  const flow = await mailFlow(world, list, 'Flow');
  const skipped = await flow.enter('ann');
  const passed = ['mail entered execute', 'mail passed frequency_cap', 'mark passed'];
  await vi.waitFor(async () => expect(await flow.steps(skipped)).toEqual(passed), WAIT);
  await world.listCap(list, { messages: 1, days: 2 });
  const waits = await flow.enter('bea');
  const held = ['mail entered execute', 'mail stays frequency_cap'];
  await vi.waitFor(async () => expect(await flow.steps(waits)).toEqual(held), WAIT);
  await world.daysGoBy(2);
  await vi.waitFor(() => expect(sentTo(address('bea'))).toEqual(['Campaign', 'Flow']), WAIT);
  expect(sentTo(address('ann'))).toEqual(['Campaign']);
  // A worker may have taken it, too, and does what follows the mail when that is on its way.
  await vi.waitFor(async () => expect(await flow.steps(waits)).toEqual([...held, 'mail passed', 'mark passed']), WAIT);
  // The other way round: a campaign after the mail of an automation.
  const after = await world.send(list, 'After');
  await vi.waitFor(async () => expect(await world.figures(after)).toBe('pending 1, sent 1, skipped 0'), WAIT);
  expect(sentTo(address('ann'))).toEqual(['Campaign', 'After']);
});

test('of two automations at the same moment one sends, and the other’s mail says why it waits', async () => {
  const world = await capWorld();
  const { address } = world;
  const list = await world.newList();
  await world.addAll(list, 'ann');
  await world.customerCap({ messages: 1, days: 1 });
  const flows = await Promise.all(['One', 'Two', 'Three'].map((subject) => mailFlow(world, list, subject)));
  const runs = await Promise.all(flows.map((flow) => flow.enter('ann')));
  await vi.waitFor(() => expect(sentTo(address('ann'))).toHaveLength(1), WAIT);
  // At its node, or already in the ledger.
  const waiting = async () => {
    const steps = (await Promise.all(flows.map((flow, no) => flow.steps(runs[no] ?? '')))).flat();
    const messages = field(await world.call('GET', '/messages?purpose=flow&state=queued'), 'data') as Record<
      string,
      string
    >[];
    return (
      steps.filter((step) => step === 'mail stays frequency_cap').length +
      messages.filter(({ reason }) => reason === REACHED).length
    );
  };
  await vi.waitFor(async () => expect(await waiting()).toBe(2), WAIT);
  expect(sentTo(address('ann'))).toHaveLength(1);
  await world.daysGoBy(1);
  await vi.waitFor(() => expect(sentTo(address('ann'))).toHaveLength(2), WAIT);
  await world.daysGoBy(1);
  await vi.waitFor(() => expect(new Set(sentTo(address('ann')))).toEqual(new Set(['One', 'Two', 'Three'])), WAIT);
  expect(sentTo(address('ann'))).toHaveLength(3);
});

test('what a reader asked for is sent in any case, and takes no place', async () => {
  const world = await capWorld();
  const { address, call } = world;
  const list = await world.newList();
  const changed = await call('PATCH', `/lists/${list.uid}`, { subscribe_confirmation: 1, send_goodbye_email: 1 });
  expect(changed.status, changed.text).toBe(200);
  await world.addAll(list, 'ann');
  // Confirmed by hand: the next ones have had their confirmation, which does not count.
  await vi.waitFor(() => expect(sentTo(address('ann'))).toHaveLength(1), WAIT);
  await db.execute(sql`UPDATE subscriber SET status = 'subscribed', pending_until = NULL WHERE list_id = ${list.id}`);
  await world.customerCap({ messages: 1, days: 30 });
  const flow = await mailFlow(world, list, 'Receipt', 'transactional');
  await flow.enter('ann');
  const receipt = await call('POST', '/transactional', {
    ...{ to: address('ann'), subject: 'Order', html: '<p>x</p>', from_email: 'news@sender.example' },
  });
  expect(receipt.status, receipt.text).toBe(202);
  await vi.waitFor(() => expect(sentTo(address('ann'))).toHaveLength(3), WAIT);
  const campaign = await world.send(list, 'Campaign');
  await world.done(campaign);
  expect(await world.figures(campaign)).toBe('pending 0, sent 1, skipped 0');
  const test = await call('POST', `/campaigns/${campaign}/test`, { emails: [address('ann')] });
  expect(test.status, test.text).toBe(201);
  await vi.waitFor(() => expect(sentTo(address('ann')).slice(4)).toEqual(['[Test] Campaign']), WAIT);
  // A marketing mail of a program is not one of these.
  const news = await call('POST', '/templates', {
    name: 'News',
    subject: 'News',
    html: '<p>{UNSUBSCRIBE_URL}</p>',
    kind: 'marketing',
  });
  const marketing = await call('POST', '/transactional', {
    ...{
      to: address('ann'),
      template_uid: field(news, 'template_uid'),
      list_uid: list.uid,
      from_email: 'news@sender.example',
    },
  });
  expect(marketing.status, marketing.text).toBe(202);
  await vi.waitFor(async () => {
    const { body } = await call('GET', `/transactional?email=${address('ann')}&state=skipped`);
    expect(body).toMatchObject({ data: [{ kind: 'marketing', reason: REACHED }] });
  }, WAIT);
  const left = await call('PATCH', `/lists/${list.uid}/subscribers/email/${address('ann')}/unsubscribe`);
  expect(left.status, left.text).toBe(200);
  await vi.waitFor(() => expect(sentTo(address('ann')).slice(5)).toEqual([expect.stringContaining('left')]), WAIT);
});
