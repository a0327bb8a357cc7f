/** A message that waits again, and is made due while the process that had it is still ending its work on it, is not left to the end of a lease. */
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { takePlaces } from '../../../src/domain/delivery/capped-message-store.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';
import { messageRows, runSender } from '../../support/message-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';

let tries = 0;
const smtp = await scriptedSmtpServer({
  answer: ({ verb }) => (verb === 'RCPT' && tries++ === 0 ? '450 4.2.0 Try again later' : undefined),
});
afterAll(() => smtp[Symbol.asyncDispose]());
const world = await startFlowMailWorld({ smtpPort: smtp.port });
const { ctx, list } = world;
const { customerId } = list;
const WAIT = { timeout: 120_000, interval: 20 };
/** No lease ends while the test runs. */
const LEASE_SECONDS = 3_600;

test('a message that is taken again while its place in a cap is given back is sent at once', async () => {
  const cap = { messages: 5, days: 7, holdDays: 7 };
  await ctx.db.execute(
    sql`UPDATE mail_list SET frequency_cap = ${JSON.stringify(cap)}::jsonb, updated_at = now() WHERE id = ${list.id}`,
  );
  const templateUid = await world.template({ subject: 'Flow', html: '<p>Flow</p>' });
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'mail', type: 'send_mail', templateUid }],
    edges: [{ from: 'start', to: 'mail' }],
  });
  const email = 'again@example.org';
  await world.enter(flow, [await world.person({ email })]);
  await world.run();
  const [message] = await messageRows(ctx, 'flow %');
  const [row] = await queryRows<{ snapshotOn: string; recipientId: bigint }>(
    ctx.db,
    sql`SELECT snapshot_on::text AS "snapshotOn", recipient_id AS "recipientId" FROM hot.message WHERE id = ${message?.id}`,
  );
  if (!message || !row) throw new Error('There is no message.');
  const { snapshotOn, recipientId } = row;
  const key = { customerId, sourceKind: SOURCE_KINDS.automation, sourceId: flow.key.automationId, snapshotOn };
  const messages = [{ recipientId, occurrence: message.id, email }];
  await takePlaces(ctx.db, { key, listId: list.id, caps: { customer: null, list: cap }, messages });

  const [locked, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The place may be taken once more, but it cannot be given back.
  const holding = ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SELECT 1 FROM hot.capped_message WHERE customer_id = ${customerId} FOR KEY SHARE`);
    locked.resolve();
    await end.promise;
  });
  await locked.promise;
  const limits = { ...ctx.installation.limits, sendLeaseSeconds: LEASE_SECONDS };
  await using sender = await runSender({ ...ctx, installation: { ...ctx.installation, limits } });
  try {
    const state = async () => (await messageRows(ctx, 'flow %')).map((one) => `${one.state} ${one.attempts}`);
    await expect.poll(state, WAIT).toEqual(['queued 1']);
    await ctx.db.execute(sql`UPDATE hot.message_queue SET not_before = now() WHERE message_id = ${message.id}`);
    sender.wake();
    const taken = sql`SELECT 1 FROM hot.message_queue WHERE message_id = ${message.id} AND owner IS NOT NULL`;
    await expect.poll(() => queryRows(ctx.db, taken), WAIT).toHaveLength(1);
  } finally {
    end.resolve();
    await holding;
  }
  await expect.poll(() => smtp.accepted.map(({ to }) => to), WAIT).toEqual([email]);
  expect(await world.mailsSettled()).toMatchObject([{ state: 'sent', attempts: 2 }]);
});
