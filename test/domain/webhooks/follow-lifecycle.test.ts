/** The follower of the event record: an event that cannot be reported does not hold up those behind it for ever. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import type { Context } from '../../../src/domain/context.ts';
import { webhooksFollower } from '../../../src/domain/webhooks/follow-lifecycle.ts';
import { createWebhook } from '../../../src/domain/webhooks/save-webhook.ts';
import type { RecordedEvent } from '../../../src/events/event-kinds.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

test('an event that cannot be reported is left out after five tries, and those behind it go on', async () => {
  const tenant = await createTenant(await createTestContext());
  if (!tenant.viewer) throw new Error('Nobody is logged in.');
  const complaints: string[] = [];
  const log = { ...tenant.log, error: (event: string) => void complaints.push(event) };
  const ctx: Context = { ...tenant, log, viewer: { ...tenant.viewer, isAdmin: true } };
  const { customerId } = tenant.viewer;
  const { webhook } = await createWebhook(ctx, {
    ...{ name: 'Comers', event: 'new_customer', url: 'https://receiver.example/' },
  });
  const event = (id: bigint, happenedAt: Date): RecordedEvent => ({
    ...{ id, kind: 'customer_added', customerId, objectUid: 'books', data: {}, happenedAt },
  });
  const now = () => new Date(Date.now() + 60_000);
  // No such time can be written into a payload.
  const events = [event(9_001n, now()), event(9_002n, new Date(Number.NaN)), event(9_003n, now())];
  const follower = webhooksFollower(ctx);
  const reported = async () => {
    const rows = await queryRows<{ key: string }>(
      ctx.db,
      sql`SELECT source_key AS key FROM hot.webhook_delivery WHERE webhook_id = ${webhook.id} ORDER BY id`,
    );
    return rows.map(({ key }) => key);
  };
  for (let tries = 1; tries < 5; tries++) await expect(follower.handle(events)).rejects.toThrow('time');
  expect(await reported()).toEqual(['event 9001']);
  await follower.handle(events);
  expect(await reported()).toEqual(['event 9001', 'event 9003']);
  expect(complaints).toEqual(['webhooks.event_left_out']);
});
