/** Frequency caps hold exactly, whoever sends at the same moment, and a message that a killed process had counts once (D82). */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { freeHeldMails } from '../../../src/domain/automations/stopping/free-held-mails.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import type { FrequencyCaps } from '../../../src/domain/audience/frequency-cap.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { deleteOldPlaces, endPlaces, takePlaces } from '../../../src/domain/delivery/capped-message-store.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { countStatements } from '../../support/count-statements.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';
import { messageRows, runSender } from '../../support/message-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';

const REFUSED = 'refused';
const smtp = await scriptedSmtpServer({
  answer: ({ verb, line }) => (verb === 'RCPT' && line.includes(REFUSED) ? '550 5.1.1 No such mailbox' : undefined),
});
const world = await startFlowMailWorld({ smtpPort: smtp.port });
const { ctx, list } = world;
const { customerId } = list;
afterAll(() => smtp[Symbol.asyncDispose]());

const setCap = (cap: object | null) =>
  ctx.db.execute(
    sql`UPDATE mail_list SET frequency_cap = ${cap && JSON.stringify(cap)}::jsonb, updated_at = now() WHERE id = ${list.id}`,
  );
const ONE_A_WEEK: FrequencyCaps = { customer: { messages: 1, days: 7, holdDays: 7 }, list: null };
const place = { taken: expect.objectContaining({ takenAt: expect.any(Date) }), skip: 'skip' };

/** Messages of a source of flows to these addresses, one each. */
const messagesOf = (sourceId: bigint, emails: readonly string[], caps = ONE_A_WEEK) => ({
  key: { customerId, sourceKind: SOURCE_KINDS.automation, sourceId, snapshotOn: '2026-11-01' },
  ...{ listId: list.id, caps },
  messages: emails.map((email, no) => ({ recipientId: BigInt(no), occurrence: sourceId * 1_000n + BigInt(no), email })),
});

async function newCampaign(subject: string) {
  const input = {
    listUid: list.uid,
    name: subject,
    subject,
    fromEmail: 'news@sender.example',
    fromName: 'N',
    html: '<p>x</p>',
  };
  const { uid } = await createCampaign(ctx, input);
  const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
  const key = { customerId, campaignId: row?.id ?? 0n };
  await startCampaign(ctx, uid);
  await snapshotAudience(ctx, key, new AbortController().signal);
  return key;
}

/** Sends all of it as a process of its own. */
async function send(key: Awaited<ReturnType<typeof newCampaign>>) {
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = { ...tools, workerId: randomUUID(), abortSignal: new AbortController().signal };
  const end = await sendBatch(ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker);
  await drivers.close();
  return end;
}

const ledgerOf = async ({ campaignId }: { campaignId: bigint }) => {
  const rows = await queryRows<{ state: string; reason: string | null; n: number }>(
    ctx.db,
    sql`SELECT state::text AS state, reason, count(*)::int AS n FROM hot.delivery WHERE customer_id = ${customerId} AND source_kind = 1 AND source_id = ${campaignId} GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  return rows.map(({ state, reason, n }) => `${n} ${state} ${reason}`);
};

test('of several processes that take places for the same people at the same moment one gets each', async () => {
  const emails = Array.from({ length: 50 }, (_, no) => `race${no}@example.org`);
  const sources = Array.from({ length: 8 }, (_, no) =>
    messagesOf(BigInt(100 + no), no % 2 ? emails : emails.toReversed()),
  );
  const answers = await Promise.all(sources.map((messages) => takePlaces(ctx.db, messages)));
  for (const email of emails) {
    const got = answers.filter((places, no) => {
      const at = sources[no]?.messages.findIndex((message) => message.email === email) ?? -1;
      return typeof places[at] === 'object' && 'takenAt' in places[at];
    });
    expect(got, email).toHaveLength(1);
  }
});

test('a message that comes again after its process was killed has one place, and one that was not sent gives it back', async () => {
  const [email] = ['Killed@EXAMPLE.org'];
  const caps = { ...ONE_A_WEEK, customer: { messages: 2, days: 7, holdDays: 7 } };
  const first = messagesOf(201n, [email ?? ''], caps);
  for (let tries = 0; tries < 3; tries++) expect(await takePlaces(ctx.db, first)).toEqual([place.taken]);
  expect(await takePlaces(ctx.db, messagesOf(202n, ['killed@example.org'], caps))).toEqual([place.taken]);
  const third = messagesOf(203n, ['killed@example.org'], caps);
  expect(await takePlaces(ctx.db, third)).toEqual([{ delaySeconds: expect.any(Number) }]);
  // By the ledger the first one was refused.
  await ctx.db.execute(
    sql`INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, occurrence, email, state)
        SELECT current_date, ${customerId}, ${SOURCE_KINDS.automation}, 201, 0, 201000, 'killed@example.org', 'failed'`,
  );
  const [day] = await queryRows<{ on: string }>(ctx.db, sql`SELECT current_date::text AS on`);
  const key = { ...first.key, snapshotOn: day?.on ?? '' };
  // With the time of a place that was taken again since, nothing changes.
  await endPlaces(ctx.db, { key, messages: first.messages, takenAt: new Date(0) });
  expect(await takePlaces(ctx.db, third)).toEqual([{ delaySeconds: expect.any(Number) }]);
  const [again] = await takePlaces(ctx.db, first);
  const takenAt = typeof again === 'object' && 'takenAt' in again ? again.takenAt : new Date(0);
  await endPlaces(ctx.db, { key, messages: first.messages, takenAt });
  expect(await takePlaces(ctx.db, third)).toEqual([place.taken]);
});

test('of two messages of the same moment one waits for as long as the other counts, whichever is handed over first', async () => {
  const email = 'twice@example.org';
  const caps = { customer: { messages: 1, days: 3, holdDays: 3 }, list: null };
  expect(await takePlaces(ctx.db, messagesOf(311n, [email], caps))).toEqual([place.taken]);
  const second = messagesOf(312n, [email], caps);
  expect(await takePlaces(ctx.db, second)).toEqual([{ delaySeconds: expect.any(Number) }]);
  // The first counts from its hand-over, which is later than the second's first look.
  await ctx.db.execute(
    sql`UPDATE hot.capped_message SET at = at + interval '30 seconds' WHERE customer_id = ${customerId} AND email_key = ${email} AND at IS NOT NULL`,
  );
  expect(await takePlaces(ctx.db, second)).toEqual([{ delaySeconds: expect.any(Number) }]);
});

test('what is held back waits from its first look on, to the end of the minute in which the cap allows it', async () => {
  const email = 'held@example.org';
  expect(await takePlaces(ctx.db, messagesOf(301n, [email]))).toEqual([place.taken]);
  const caps = { customer: null, list: { messages: 1, days: 2, holdDays: 3 } };
  const held = messagesOf(302n, [email], caps);
  const [first] = await takePlaces(ctx.db, held);
  const seconds = typeof first === 'object' && 'delaySeconds' in first ? first.delaySeconds : 0;
  expect(seconds).toBeGreaterThan(2 * 86_400 - 60);
  expect(seconds).toBeLessThanOrEqual(2 * 86_400 + 60);
  // Others take the place each time, until it has waited for too long.
  const at = sql`customer_id = ${customerId} AND email_key = ${email}`;
  await ctx.db.execute(sql`UPDATE hot.capped_message SET held_since = held_since - interval '30 hours' WHERE ${at}`);
  expect(await takePlaces(ctx.db, held)).toEqual(['skip']);
  // It is gone: the same message would wait anew.
  expect(await takePlaces(ctx.db, held)).toEqual([{ delaySeconds: expect.any(Number) }]);
  await ctx.db.execute(sql`UPDATE hot.capped_message SET at = at - interval '2 days' WHERE ${at}`);
  expect(await takePlaces(ctx.db, held)).toEqual([place.taken]);
});

test('two campaigns in two processes and an automation, all at once: nobody gets two', async () => {
  await setCap({ messages: 1, days: 7, holdDays: 7 });
  const people = await world.people(60);
  const templateUid = await world.template({ subject: 'Flow', html: '<p>Flow</p>' });
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'mail', type: 'send_mail', templateUid }],
    edges: [{ from: 'start', to: 'mail' }],
  });
  const [first, second] = [await newCampaign('One'), await newCampaign('Two')];
  await world.enter(flow, people.slice(0, 30));
  await world.run();
  const places = () =>
    queryRows<{ taken: number; held: number }>(
      ctx.db,
      sql`SELECT count(*) FILTER (WHERE at IS NOT NULL)::int AS taken, count(*) FILTER (WHERE held_since IS NOT NULL)::int AS held
            FROM hot.capped_message m JOIN subscriber s ON s.customer_id = m.customer_id AND s.email_key = m.email_key WHERE s.list_id = ${list.id}`,
    );
  const sender = await runSender(ctx);
  await Promise.all([send(first), send(second)]);
  await expect.poll(() => smtp.accepted.length, { timeout: 120_000 }).toBe(60);
  // Of 60 places of each campaign and 30 of the automation, whose messages may be looked at last.
  await expect.poll(places, { timeout: 120_000 }).toEqual([{ taken: 60, held: 90 }]);
  await sender[Symbol.asyncDispose]();
  expect(new Set(smtp.accepted.map(({ to }) => to)).size).toBe(60);
  const states = [...(await ledgerOf(first)), ...(await ledgerOf(second))];
  expect(new Set(states.map((state) => state.replace(/^\d+ /, '')))).toEqual(
    new Set(['queued frequency_cap', 'sent null']),
  );
  expect(await places()).toEqual([{ taken: 60, held: 90 }]);
});

test('what a cap holds back waits as long as the cap says, and longer than for anything else', async () => {
  await setCap(null);
  const templateUid = await world.template({ subject: 'Held', html: '<p>Held</p>' });
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'mail', type: 'send_mail', templateUid }],
    edges: [{ from: 'start', to: 'mail' }],
  });
  const email = 'waits@example.org';
  await world.enter(flow, [await world.person({ email })]);
  await world.run();
  // Another mail has taken the place since.
  await setCap({ messages: 1, days: 10, holdDays: 14 });
  expect(await takePlaces(ctx.db, messagesOf(401n, [email], { ...ONE_A_WEEK, customer: null }))).toEqual([place.taken]);
  const mine = async () => (await messageRows(ctx, 'flow %')).filter((one) => one.email === email);
  /** All of it lies so many days further back, and the mail is looked at. */
  const looksAfter = async (days: number) => {
    const ago = sql`make_interval(days => ${days})`;
    const queued = sql`SELECT m.id FROM hot.message m JOIN hot.message_queue q ON q.message_id = m.id WHERE m.source_kind = 2 AND m.source_id = ${flow.key.automationId}`;
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET updated_at = updated_at - ${ago} WHERE source_kind = 2 AND occurrence IN (${queued})`,
    );
    await ctx.db.execute(
      sql`UPDATE hot.capped_message SET at = at - ${ago}, held_since = held_since - ${ago} WHERE email_key = ${email}`,
    );
    await ctx.db.execute(
      sql`UPDATE hot.message SET created_at = created_at - ${ago}, age_from = age_from - ${ago} WHERE id IN (${queued})`,
    );
    await ctx.db.execute(sql`UPDATE hot.message_queue SET not_before = now() WHERE message_id IN (${queued})`);
    await using _sender = await runSender(ctx);
    const isDue = sql`SELECT 1 FROM hot.message_queue WHERE message_id IN (${queued}) AND (owner IS NOT NULL OR not_before <= now())`;
    await expect.poll(() => queryRows(ctx.db, isDue), { timeout: 120_000 }).toEqual([]);
  };
  await looksAfter(0);
  expect(await mine()).toMatchObject([{ state: 'queued', reason: 'frequency_cap' }]);
  await looksAfter(5);
  expect(await mine()).toMatchObject([{ state: 'queued', reason: 'frequency_cap' }]);
  // By days that did not make it older, nothing else holds it for too short a time, either.
  const [age] = await queryRows<{ hours: number }>(
    ctx.db,
    sql`SELECT (extract(epoch FROM now() - coalesce(m.age_from, m.created_at)) / 3600)::int AS hours
          FROM hot.message m JOIN hot.message_queue q ON q.message_id = m.id WHERE m.source_kind = 2 AND m.source_id = ${flow.key.automationId}`,
  );
  expect(age).toEqual({ hours: 0 });
  // Without the cap it goes at once, and not at its next look.
  await setCap(null);
  const dueNow = () =>
    queryRows(
      ctx.db,
      sql`SELECT 1 FROM hot.message_queue q JOIN hot.message m ON m.id = q.message_id
           WHERE m.source_kind = 2 AND m.source_id = ${flow.key.automationId} AND q.not_before <= now()`,
    );
  for (const [listId, due] of [
    [list.id + 1n, 0],
    [list.id, 1],
  ] as const) {
    await freeHeldMails(ctx, { customerId, listId }, () => false);
    expect(await dueNow()).toHaveLength(due);
  }
  await using _sender = await runSender(ctx);
  await world.mailsSettled();
  expect(await mine()).toMatchObject([{ state: 'sent' }]);
});

test('who was refused has not had the message: another one may go', async () => {
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE list_id = ${list.id}`);
  await world.person({ email: `${REFUSED}@example.org` });
  const before = smtp.accepted.length;
  const campaign = await newCampaign('Refused');
  expect(await send(campaign)).toBe('settled');
  expect(await ledgerOf(campaign)).toEqual([expect.stringMatching(/^1 failed /)]);
  expect(smtp.accepted).toHaveLength(before);
  expect(
    await queryRows(ctx.db, sql`SELECT 1 FROM hot.capped_message WHERE email_key = ${`${REFUSED}@example.org`}`),
  ).toEqual([]);
});

test('without a cap nothing is asked and nothing is kept', async () => {
  await setCap(null);
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE list_id = ${list.id}`);
  await world.person({ email: 'free@example.org' });
  const campaign = await newCampaign('Free');
  const { statements } = await countStatements(() => send(campaign));
  expect(statements.filter((text) => text.includes('capped'))).toEqual([]);
  expect(await ledgerOf(campaign)).toEqual(['1 sent null']);
});

test('places that no cap counts any more are deleted', async () => {
  await ctx.db.execute(sql`DELETE FROM hot.capped_message`);
  const keep = (email: string, days: number, isHeld = false) =>
    ctx.db.execute(
      sql`INSERT INTO hot.capped_message (customer_id, email_key, source_kind, source_id, occurrence, list_id, at, held_since)
          SELECT ${customerId}, ${email}, 1, 1, 0, ${list.id}, CASE WHEN NOT ${isHeld}::boolean THEN a.at END, CASE WHEN ${isHeld}::boolean THEN a.at END
            FROM (SELECT now() - make_interval(days => ${days}) AS at) a`,
    );
  const left = async () =>
    (await queryRows<{ email: string }>(ctx.db, sql`SELECT email_key AS email FROM hot.capped_message ORDER BY 1`)).map(
      ({ email }) => email,
    );
  await setCap({ messages: 1, days: 30, holdDays: 3 });
  await keep('counts', 30);
  await keep('old', 32);
  await keep('waited', 32, true);
  await keep('waits', 13, true);
  expect(await deleteOldPlaces(ctx.db)).toBe(2);
  expect(await left()).toEqual(['counts', 'waits']);
  await setCap(null);
  await deleteOldPlaces(ctx.db);
  expect(await left()).toEqual(['waits']);
});
