/** Statements that move a thousand of many rows read as many as they move, also while the statistics of a table that has grown are old. */
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Sql, type Transaction } from '../../src/db/database.ts';
import { unparkRuns } from '../../src/domain/automations/runs/parked-run-store.ts';
import { addDeliveries, resendDeliveries } from '../../src/domain/webhooks/delivery-store.ts';
import { moveSome } from '../../src/domain/webhooks/waiting-store.ts';
import { sealWebhookSecret } from '../../src/domain/webhooks/webhook-secret.ts';
import { insertWebhook } from '../../src/domain/webhooks/webhook-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { createTenant } from '../support/tenant.ts';
import { createTestContext } from '../support/test-context.ts';

const ROWS = 3_000;
const MOVED = 1_000;
/** Each with each would be three millions. */
const WORK_MAX = 200_000;

const ctx = await createTenant(await createTestContext());
const customerId = ctx.viewer?.customerId ?? 0n;
const uid = newUid();
const webhook = await insertWebhook(ctx.db, {
  ...{ uid, customerId, name: 'Books', event: 'new_customer', url: `https://${uid}.example/` },
  receiver: `https://${uid}.example`,
  sealedSecret: sealWebhookSecret(ctx.installation.secret, uid, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
});

beforeAll(async () => {
  const made = Array.from({ length: ROWS }, (_, no) => ({
    ...{ webhook, event: 'new_customer', sourceKey: String(no), personId: null, happenedAt: new Date(), payload: '{}' },
  }));
  await addDeliveries(ctx.db, made);
});

const NODE = z.looseObject({
  'Actual Rows': z.number(),
  'Actual Loops': z.number(),
  'Rows Removed by Filter': z.number().default(0),
  'Rows Removed by Join Filter': z.number().default(0),
  Plans: z.array(z.unknown()).default([]),
});

/** The rows that are looked at in a part of a plan. */
function workOf(part: unknown): number {
  const node = NODE.parse(part);
  const rows = node['Actual Rows'] + node['Rows Removed by Filter'] + node['Rows Removed by Join Filter'];
  return node.Plans.reduce<number>((sum, inner) => sum + workOf(inner), rows * node['Actual Loops']);
}

/** The rows that the statements which move something look at; they answer nothing. Others run as they are. */
async function workIn(act: (tx: Transaction) => Promise<unknown>): Promise<number> {
  let work = 0;
  const explain = async (tx: Transaction, statement: Sql): Promise<void> => {
    const [row] = await queryRows<{ 'QUERY PLAN': readonly { Plan: unknown }[] }>(
      tx,
      sql`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
    );
    work += workOf(row?.['QUERY PLAN'][0]?.Plan);
  };
  const isMove = ({ text }: Sql): boolean => text.startsWith('WITH') && text.includes('UPDATE hot.');
  await ctx.database.transaction((tx) =>
    act({
      ...tx,
      async query(columns, statement, name) {
        if (!isMove(statement)) return tx.query(columns, statement, name);
        await explain(tx, statement);
        return [];
      },
      async execute(statement, name) {
        if (!isMove(statement)) return tx.execute(statement, name);
        await explain(tx, statement);
        return 0;
      },
    }),
  );
  return work;
}

async function deliveriesIn(state: string): Promise<number> {
  return (
    await queryRows(
      ctx.db,
      sql`SELECT 1 FROM hot.webhook_delivery WHERE webhook_id = ${webhook.id} AND state = ${state}`,
    )
  ).length;
}

test('deliveries of a webhook that is paused, and those that are sent again', async () => {
  await ctx.db.execute(sql`UPDATE webhook SET status = 'paused' WHERE id = ${webhook.id}`);
  expect(await workIn((tx) => moveSome(tx, webhook))).toBeLessThan(WORK_MAX);
  expect(await deliveriesIn('parked')).toBe(MOVED);
  await ctx.db.execute(sql`UPDATE webhook SET status = 'active' WHERE id = ${webhook.id}`);
  const again = { states: ['parked'], uid: null, from: null, to: null, after: null, max: MOVED } as const;
  expect(await workIn((tx) => resendDeliveries(tx, { webhook, ...again }))).toBeLessThan(WORK_MAX);
  expect(await deliveriesIn('waiting')).toBe(ROWS);
});

test('runs that were parked', async () => {
  const key = { customerId, automationId: 1n, version: 1, node: 'mail' };
  await ctx.db.execute(
    sql`INSERT INTO hot.flow_run (customer_id, automation_id, person_id, entered_at, since, version, state, node)
        SELECT ${customerId}, 1, g, now(), now(), 1, 'parked', 'mail' FROM generate_series(1, ${ROWS}::int) g`,
  );
  const asked = { request: null, now: new Date(), afterId: 0n, max: MOVED };
  expect(await workIn((tx) => unparkRuns(tx, key, asked))).toBeLessThan(WORK_MAX);
  const due = await queryRows(ctx.db, sql`SELECT 1 FROM hot.flow_run WHERE automation_id = 1 AND state = 'due'`);
  expect(due).toHaveLength(MOVED);
});
