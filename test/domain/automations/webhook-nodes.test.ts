/** Webhooks hear who comes to an API-call node or a webhook node, once each, with the step. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { insertAutomationWebhook } from '../../support/insert-webhook.ts';

const world = await startFlowWorld();
const { ctx, list } = world;

const flow = {
  triggers: [{ type: 'execute' }],
  nodes: [
    { id: 'tell', type: 'webhook' },
    { id: 'rest', type: 'wait', for: { hours: 1 } },
    { id: 'ask', type: 'api_call', for: { days: 1 } },
  ],
  edges: [
    { from: 'start', to: 'tell' },
    { from: 'tell', to: 'rest' },
    { from: 'rest', to: 'ask' },
  ],
};

const told = async (automationId?: bigint) => {
  const rows = await queryRows<{ body: { automation_id: number; subscriber_uid: string } }>(
    ctx.db,
    sql`SELECT convert_from(payload, 'UTF8')::jsonb AS body FROM hot.webhook_delivery WHERE event = 'automation_webhook' ORDER BY id`,
  );
  const ofFlow = rows.filter(({ body }) => automationId === undefined || BigInt(body.automation_id) === automationId);
  return ofFlow.map(({ body }) => `${body.automation_id} ${body.subscriber_uid}`);
};

const nodesTold = (automationId: bigint) =>
  queryRows(
    ctx.db,
    sql`SELECT DISTINCT d.body->>'node' AS node FROM automation a
          JOIN (SELECT convert_from(payload, 'UTF8')::jsonb AS body FROM hot.webhook_delivery WHERE event = 'automation_webhook') d
            ON d.body->>'automation_uid' = a.uid
         WHERE a.id = ${automationId} ORDER BY 1`,
  );

test('without a webhook nothing is written, and the flow goes on', async () => {
  const published = await world.publish(flow);
  await world.enter(published, [await world.person()]);
  await world.run();
  expect(await told()).toEqual([]);
  expect(await world.counts(published)).toMatchObject({ tell: 'entered 1, passed 1', rest: 'entered 1, waiting 1' });
});

test('a webhook hears of the webhook node, then of who waits for a call, and of who begins with it', async () => {
  await insertAutomationWebhook(ctx, list.customerId);
  const published = await world.publish(flow);
  const line = (person: bigint, { key } = published) => `${key.automationId} ${subscriberUid(person)}`;
  const [ann, ben] = [await world.person(), await world.person()];
  await world.enter(published, [ann, ben]);
  expect(await told(published.key.automationId)).toEqual([]);
  await world.run('2026-11-27T09:00:00Z');
  const first = [line(ann), line(ben)];
  expect((await told(published.key.automationId)).toSorted()).toEqual(first.toSorted());
  await world.run('2026-11-27T10:00:00Z');
  await world.run('2026-11-27T10:00:01Z');
  expect((await told(published.key.automationId)).toSorted()).toEqual([...first, ...first].toSorted());
  expect(await nodesTold(published.key.automationId)).toEqual([{ node: 'ask' }, { node: 'tell' }]);
  // A time-out is no arrival.
  await world.run('2026-11-28T10:00:00Z');
  expect(await told(published.key.automationId)).toHaveLength(4);

  const asks = await world.publish({
    ...flow,
    nodes: [{ id: 'ask', type: 'api_call' }],
    edges: [{ from: 'start', to: 'ask' }],
  });
  await world.enter(asks, [ann]);
  expect(await told(asks.key.automationId)).toEqual([line(ann, asks)]);
});
