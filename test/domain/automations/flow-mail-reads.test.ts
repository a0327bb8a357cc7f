/** What is read of the mails of flows: their content for the page, and who gets notices about them. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { readFlowContent } from '../../../src/domain/delivery/flow-mails/flow-source-read-model.ts';
import { usersOf } from '../../../src/domain/delivery/people-read-model.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';

// Nothing is handed over.
const world = await startFlowMailWorld({ smtpPort: 9 });
const { ctx, list } = world;

test('the content of a mail that was sent is read by its own flow, for its page', async () => {
  const templateUid = await world.template({ subject: 'Page', html: '<p>Page</p>' });
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'page', type: 'send_mail', templateUid }],
    edges: [{ from: 'start', to: 'page' }],
  });
  const person = await world.person();
  await world.enter(flow, [person]);
  await world.run('2026-12-20T08:00:00Z');
  const [message] = await queryRows<{ id: bigint; automationId: bigint; content: unknown }>(
    ctx.db,
    sql`SELECT id, source_id AS "automationId", content FROM hot.message WHERE recipient_id = ${person} AND purpose = 'flow'`,
  );
  const { id: messageId = 0n, automationId = 0n, content } = message ?? {};
  const { customerId } = list;
  expect(content).toBeDefined();
  expect(await readFlowContent(ctx.db, { customerId, automationId, messageId })).toEqual(content);
  expect(await readFlowContent(ctx.db, { customerId, automationId: automationId + 1n, messageId })).toBeUndefined();
});

test('a notice goes to the active users of its customer only', async () => {
  const { customerId } = list;
  const user = (name: string, status: string) =>
    sql`(${customerId}, ${newUid()}, ${`${name}@users.example`}, ${`${name}@users.example`}, 'x', ${status})`;
  await ctx.db.execute(sql`
    INSERT INTO app_user (customer_id, uid, email, email_key, password_hash, status)
    VALUES ${user('one', 'active')}, ${user('two', 'disabled')}`);
  const emails = (await usersOf(ctx.db, customerId)).map(({ email }) => email);
  expect(emails).toContain('one@users.example');
  expect(emails).not.toContain('two@users.example');
});
