/** The process that makes deliveries of what customers ask for is killed after each of its statements: nothing is lost, nothing comes twice. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createWebhook } from '../../../src/domain/webhooks/save-webhook.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../support/webhook-activity-process.ts');
/** Three batches, of which two are watched: each has BEGIN, four statements and COMMIT. */
const PEOPLE = 250;
const KILLS = 13;

async function run(url: string, statements: number): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [PROGRAM, url, String(statements)], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.signalCode;
}

test('each event becomes one delivery of each webhook, whenever the process dies', { timeout: 300_000 }, async () => {
  const ctx = await createTenant(await createTestContext());
  const { url } = ctx.database;
  const list = await newList(ctx);
  for (const name of ['one', 'other'])
    await createWebhook(ctx, { name, event: 'subscriber.added', url: `https://${name}.example/` });
  await subscriberPeople(ctx.db, list, PEOPLE);
  const count = async () => {
    const [found] = await queryRows<{ left: number; made: number; different: number; ids: number }>(
      ctx.db,
      sql`SELECT (SELECT count(*)::int FROM hot.webhook_activity WHERE customer_id = ${list.customerId}) AS left,
                 count(*)::int AS made, count(DISTINCT (webhook_id, source_key))::int AS different, count(DISTINCT uid)::int AS ids
            FROM hot.webhook_delivery WHERE customer_id = ${list.customerId}`,
    );
    return found ?? { left: 0, made: 0, different: 0, ids: 0 };
  };
  let killed = 0;
  for (let statements = 1; statements <= KILLS; statements++) {
    if ((await run(url, statements)) === 'SIGKILL') killed += 1;
    const { left, made } = await count();
    expect(left + made / 2, `killed after ${statements} statements`).toBe(PEOPLE);
  }
  expect(killed).toBeGreaterThan(1);
  expect(await run(url, Number.MAX_SAFE_INTEGER)).toBeNull();
  expect(await count()).toEqual({ left: 0, made: 2 * PEOPLE, different: 2 * PEOPLE, ids: 2 * PEOPLE });
});
