/**
 * Messages that are not of a campaign: who gets none although one waits, what goes first, what is sent again, and what comes back
 * about them (HARD-CASES B3, B11, B15; decisions D80, D94).
 */
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { messageOf } from '../../../src/domain/audience/mails/person-message.ts';
import { recordRefusals } from '../../../src/domain/bounces/record-refusals.ts';
import { takeMessages } from '../../../src/domain/delivery/messages/message-queue-store.ts';
import { enqueueSystemMails } from '../../../src/domain/delivery/messages/system-mail.ts';
import { enqueueMessages } from '../../../src/domain/messages/enqueue-messages.ts';
import { eraseOldContents } from '../../../src/domain/messages/message-store.ts';
import { PRIORITIES, type NewMessage } from '../../../src/domain/messages/message.ts';
import { recordDeliveryReport } from '../../../src/domain/tracking/record-delivery-report.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld, copiesByRecipient } from '../../support/campaign-world.ts';
import { messageRows, runSender } from '../../support/message-world.ts';
import { scriptedSmtpServer, type ScriptedServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

async function newWorld(server: ScriptedServer, recipients = 8) {
  const ctx = await createTestContext();
  await loadPlugins(path.resolve('plugins'), ctx.hooks);
  const world = await campaignWorld(ctx, { recipients, smtpPort: server.port, server: { connections: 2, window: 1 } });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await ctx.db.execute(sql`UPDATE customer SET is_operator = (id = ${customerId})`);
  const people = await queryRows<{ id: bigint; listId: bigint; email: string }>(
    ctx.db,
    sql`SELECT id, list_id AS "listId", email FROM subscriber WHERE customer_id = ${customerId} ORDER BY id`,
  );
  const welcomes = people.map((person) =>
    messageOf({ ...person, customerId }, { kind: 'welcome', eventId: person.id }),
  );
  const notice = (to: string, job = '1') => enqueueSystemMails(ctx, job, [{ to, subject: 'Hi', paragraphs: ['x'] }]);
  return { ctx, user: world.ctx, customerId, people, welcomes, notice };
}

type Rows = Awaited<ReturnType<typeof messageRows>>;
const untilClosed = (world: { ctx: Parameters<typeof messageRows>[0] }) =>
  vi.waitFor(
    async (): Promise<Rows> => {
      const rows = await messageRows(world.ctx);
      expect(rows.filter(({ waits }) => waits)).toEqual([]);
      return rows;
    },
    { timeout: 120_000, interval: 100 },
  );

it('a second message of the same cause is not written, also when two write it at once', async () => {
  await using server = await scriptedSmtpServer();
  const { ctx, welcomes } = await newWorld(server);
  const written = await Promise.all([1, 2, 3].map(() => enqueueMessages(ctx.db, welcomes)));
  expect(written.flat()).toHaveLength(welcomes.length);
  expect(await messageRows(ctx)).toHaveLength(welcomes.length);
});

it('nobody gets one who left, was suppressed, erased or has another address by then, and the log says why', async () => {
  await using server = await scriptedSmtpServer();
  const world = await newWorld(server);
  const { ctx, customerId, people, welcomes } = world;
  await enqueueMessages(ctx.db, welcomes);
  const [left, bounced, everywhere, gone, moved, pending] = people.map(({ id }) => id);
  const suppress = (id: bigint | undefined, whose: bigint, reason: string) =>
    ctx.db.execute(
      sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT ${whose}, email_key, ${reason} FROM subscriber WHERE id = ${id ?? 0n}`,
    );
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ${left ?? 0n}`);
  await suppress(bounced, customerId, 'bounce');
  await suppress(everywhere, 0n, 'complaint');
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE id = ${gone ?? 0n}`);
  await ctx.db.execute(
    sql`UPDATE subscriber SET email = 'new@person.example', email_key = 'new@person.example' WHERE id = ${moved ?? 0n}`,
  );
  await ctx.db.execute(
    sql`UPDATE subscriber SET status = 'pending', pending_until = now() + interval '1 day' WHERE id = ${pending ?? 0n}`,
  );
  await using _sender = await runSender(ctx);
  const rows = await untilClosed(world);
  expect(rows.map(({ state, reason }) => [state, reason])).toEqual([
    ['skipped', 'unsubscribed'],
    ['suppressed', 'suppressed'],
    ['suppressed', 'suppressed'],
    ['skipped', 'deleted'],
    ['sent', null],
    ['skipped', 'pending'],
    ['sent', null],
    ['sent', null],
  ]);
  const old = people[4]?.email ?? '';
  expect(copiesByRecipient(server.accepted).has(old)).toBe(false);
  expect(rows[4]?.email).toBe('new@person.example');
  expect(server.accepted).toHaveLength(3);
});

it('a complaint stops all but what is about security', async () => {
  await using server = await scriptedSmtpServer();
  const world = await newWorld(server);
  const { ctx, customerId, notice } = world;
  await ctx.db.execute(sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES
    (0, 'angry@person.example', 'complaint'), (${customerId}, 'dead@person.example', 'bounce')`);
  await notice('angry@person.example');
  await ctx.db.execute(sql`UPDATE hot.message SET kind = 'transactional'`);
  for (const to of ['angry@person.example', 'dead@person.example']) {
    const message: NewMessage = {
      ...{
        source: { customerId, sourceKind: 3, sourceId: 0n },
        to: { email: to },
        kind: 'security',
        purpose: 'notice',
      },
      ...{ priority: PRIORITIES.transactional, cause: `login ${to}`, content: { subject: 'Hi', paragraphs: ['x'] } },
    };
    await enqueueMessages(ctx.db, [message]);
  }
  await using _sender = await runSender(ctx);
  expect((await untilClosed(world)).map(({ state }) => state)).toEqual(['suppressed', 'sent', 'suppressed']);
});

it('who leaves while messages wait for a slow server gets none', async () => {
  await using server = await scriptedSmtpServer({
    write: (reply, { socket }) => void setTimeout(() => socket.destroyed || socket.write(reply), 150),
  });
  const world = await newWorld(server, 20);
  const { ctx, customerId, welcomes } = world;
  await enqueueMessages(ctx.db, welcomes);
  await using _sender = await runSender(ctx);
  await vi.waitFor(() => expect(server.accepted.length).toBeGreaterThan(2), { timeout: 120_000 });
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE customer_id = ${customerId}`);
  const before = server.accepted.length;
  const rows = await untilClosed(world);
  // On each of the two connections one was being transferred already.
  expect(server.accepted.length).toBeLessThanOrEqual(before + 2);
  const counts = Map.groupBy(rows, ({ state }) => state);
  expect([counts.get('sent')?.length, counts.get('skipped')?.length]).toEqual([
    server.accepted.length,
    20 - server.accepted.length,
  ]);
});

it('a process whose lease seemed lost for a moment does not begin with its own messages a second time', async () => {
  await using server = await scriptedSmtpServer({
    write: (reply, { socket }) => void setTimeout(() => socket.destroyed || socket.write(reply), 100),
  });
  // Two go at once, and the third waits for a connection: taken again, it would follow itself at once.
  const world = await newWorld(server, 3);
  const { ctx, welcomes } = world;
  await enqueueMessages(ctx.db, welcomes);
  await using sender = await runSender(ctx);
  const underWay = async () => (await messageRows(ctx)).filter(({ state }) => state === 'sending').length;
  await vi.waitFor(async () => expect(await underWay()).toBeGreaterThan(0), { timeout: 120_000, interval: 5 });
  // As when the database restarts, or the connection that proves the process alive breaks.
  await ctx.db.execute(sql`UPDATE hot.message_queue SET owner = NULL, not_before = now()`);
  sender.wake();
  await untilClosed(world);
  expect([...copiesByRecipient(server.accepted).values()]).toEqual([1, 1, 1]);
});

it('20,000 of the last priority do not delay one of the first, nor another customer’s', async () => {
  await using server = await scriptedSmtpServer();
  const { ctx, customerId, people, notice } = await newWorld(server);
  const [person] = people;
  const flood = Array.from({ length: 20_000 }, (_, n): NewMessage => ({
    ...messageOf(
      { id: person?.id ?? 0n, listId: person?.listId ?? 0n, customerId },
      { kind: 'welcome', eventId: BigInt(n) },
    ),
    priority: PRIORITIES.test,
  }));
  await enqueueMessages(ctx.db, flood);
  await enqueueMessages(ctx.db, [
    ...flood.slice(0, 1).map((message) => ({
      ...message,
      ...{ source: { customerId: customerId + 1n, sourceKind: 4, sourceId: 1n }, cause: 'another customer' },
    })),
  ]);
  await notice('first@person.example');
  const holder = { owner: '00000000-0000-4000-8000-000000000001', leaseSeconds: 60 };
  const everything = Object.values(PRIORITIES);
  const taken = await takeMessages(ctx.db, { holder, priorities: everything, busy: [], perCustomer: 8, wanted: 32 });
  expect(taken[0]?.purpose).toBe('notice');
  expect(taken.filter((message) => message.customerId === customerId + 1n)).toHaveLength(1);
  expect(taken.length).toBe(10);
  const first = await takeMessages(ctx.db, {
    holder,
    priorities: [PRIORITIES.transactional],
    busy: [],
    perCustomer: 8,
    wanted: 32,
  });
  expect(first).toEqual([]);
  const others = await takeMessages(ctx.db, {
    holder,
    priorities: everything,
    busy: [customerId],
    perCustomer: 8,
    wanted: 32,
  });
  expect(others).toEqual([]);
}, 300_000);

it.each([
  ['notice', 'sent', 2],
  ['welcome', 'unknown', 1],
] as const)('of an answer that is lost: a %s ends as %s', async (purpose, state, copies) => {
  let lost = 1;
  await using server = await scriptedSmtpServer({
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT' || lost === 0) return undefined;
      lost -= 1;
      session.socket.destroy();
      return null;
    },
  });
  const world = await newWorld(server);
  const { ctx, welcomes, notice } = world;
  if (purpose === 'notice') await notice('new@person.example');
  else await enqueueMessages(ctx.db, welcomes.slice(0, 1));
  const quick = {
    ...ctx,
    installation: { ...ctx.installation, limits: { ...ctx.installation.limits, sendRetryDelaySeconds: 1 } },
  };
  await using _sender = await runSender(quick);
  const [row] = await untilClosed(world);
  expect(row).toMatchObject({ state, ambiguous: 1, attempts: copies });
  expect(server.accepted).toHaveLength(copies - 1);
});

it('bounces and complaints about them reach the person, and an address without a list', async () => {
  await using server = await scriptedSmtpServer();
  const world = await newWorld(server);
  const { ctx, customerId, welcomes, notice } = world;
  await enqueueMessages(ctx.db, welcomes.slice(0, 2));
  await notice('alone@person.example');
  await notice('refused@person.example', '2');
  await using _sender = await runSender(ctx);
  await untilClosed(world);
  const messageIdTo = (email: string | undefined) =>
    /^Message-ID:\s*(<[^>]+>)/im.exec(server.accepted.find(({ to }) => to === email)?.content ?? '')?.[1] ?? '';
  const [bounced, complained] = world.people.map(({ email }) => email);
  for (const email of [bounced, 'alone@person.example'])
    await recordDeliveryReport(world.user, { messageId: messageIdTo(email), type: 'bounced', bounceType: 'hard' });
  await recordDeliveryReport(world.user, { messageId: messageIdTo(complained), type: 'reported', reportType: 'abuse' });
  const [refused] = await queryRows<{ recipientId: bigint; occurrence: bigint; sourceKind: number; sourceId: bigint }>(
    ctx.db,
    sql`UPDATE hot.delivery SET state = 'failed', reply = '550 5.1.1 no such user' WHERE email = 'refused@person.example'
        RETURNING recipient_id AS "recipientId", occurrence, source_kind AS "sourceKind", source_id AS "sourceId"`,
  );
  if (refused) await recordRefusals({ ...ctx, viewer: null }, { ...refused, customerId, messages: [refused] });
  const suppressed = await queryRows<{ key: string; reason: string }>(
    ctx.db,
    sql`SELECT email_key AS key, reason FROM suppression WHERE customer_id = ${customerId} ORDER BY 1`,
  );
  expect(suppressed).toEqual(
    [
      { key: 'alone@person.example', reason: 'bounce' },
      { key: 'refused@person.example', reason: 'bounce' },
      { key: bounced, reason: 'bounce' },
      { key: complained, reason: 'complaint' },
    ].toSorted((a, b) => ((a.key ?? '') < (b.key ?? '') ? -1 : 1)),
  );
});

it('what a message says is erased after a week, unless it waits', async () => {
  await using server = await scriptedSmtpServer();
  const world = await newWorld(server);
  const { ctx, notice } = world;
  await notice('old@person.example');
  await using sender = await runSender(ctx);
  await untilClosed(world);
  sender.pause('the test');
  await notice('waiting@person.example', '2');
  await notice('young@person.example', '3');
  await ctx.db.execute(
    sql`UPDATE hot.message SET created_at = now() - interval '8 days' WHERE cause NOT LIKE 'job 3%'`,
  );
  await ctx.db.execute(
    sql`DELETE FROM hot.message_queue WHERE message_id = (SELECT id FROM hot.message WHERE cause LIKE 'job 3%')`,
  );
  expect(await eraseOldContents(ctx.db)).toBe(1);
  const left = await queryRows<{ cause: string }>(
    ctx.db,
    sql`SELECT cause FROM hot.message WHERE content IS NOT NULL ORDER BY id`,
  );
  expect(left.map(({ cause }) => cause.slice(0, 5))).toEqual(['job 2', 'job 3']);
});
