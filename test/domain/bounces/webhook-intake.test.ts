/** What is kept of vendors' requests within an hour is limited: a customer knows the key of its own server, and may send without end. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { keptRequest } from '../../../src/domain/bounces/vendor-request.ts';
import { createWebhookIntake } from '../../../src/domain/bounces/webhook-intake.ts';
import type { MessageEvent } from '../../../src/domain/bounces/webhook-events.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { WebhookBusyError } from '../../../src/lib/errors.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();

function posted(serverId: bigint, fault: string | null, headerBytes = 0) {
  const request = keptRequest(
    {
      ...{ method: 'POST', query: {}, receivedAt: new Date() },
      headers: { 'x-long': 'x'.repeat(headerBytes) },
      body: Buffer.alloc(900 - headerBytes, 'x'),
    },
    { secrets: [], eventCount: 1, fault },
  );
  const event: MessageEvent = { kind: 'delivered', id: newUid(), messageId: newUid() };
  const server = { customerId: 1n, serverId, type: 'pigeon-api', uid: `server${serverId}`, isSystem: false };
  return { server, events: fault === null ? [event] : [], request };
}

const counts = () =>
  queryRows(
    ctx.db,
    sql`SELECT server_id::int AS server, (SELECT count(*) FROM hot.webhook_event e WHERE e.server_id = s.server_id)::int AS events,
               (SELECT count(*) FROM hot.vendor_request r WHERE r.server_id = s.server_id)::int AS kept
          FROM (SELECT DISTINCT server_id FROM hot.webhook_event) s ORDER BY 1`,
  );

test('events are taken beyond it, and requests are kept no more; one that cannot be read is to come again', async () => {
  const take = createWebhookIntake(ctx, { ofServer: 2_000, inAll: 3_500 });
  for (const serverId of [1n, 1n, 1n, 2n, 2n]) await take(posted(serverId, null));
  expect(await counts()).toEqual([
    { server: 1, events: 3, kept: 2 },
    { server: 2, events: 2, kept: 1 },
  ]);
  await expect(take(posted(1n, 'no JSON'))).rejects.toThrow(WebhookBusyError);
  // A new process; headers and the address count like the body.
  const another = createWebhookIntake(ctx, { ofServer: 2_000, inAll: 3_500 });
  for (let count = 0; count < 3; count += 1) await another(posted(3n, null, 800));
  expect((await counts()).at(-1)).toEqual({ server: 3, events: 3, kept: 2 });
});
