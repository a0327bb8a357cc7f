/** Slots of automations (A16): each comes once for each person and none too early, whatever the clocks of the processes say and whoever is cut off at that time. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { addListField } from '../../src/domain/audience/add-list-field.ts';
import { updateList } from '../../src/domain/audience/update-list.ts';
import { startFlowWaker } from '../../src/domain/automations/engine/flow-waker.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createTestContext } from '../support/test-context.ts';
import { startFlowWorld } from '../support/flow-world.ts';
import { settleTriggers } from '../support/trigger-world.ts';

const PEOPLE = 120;
const MINUTE_MS = 60_000;
const CLOCKS_MS = [-3_600_000, 0, 3_600_000];

const world = await startFlowWorld(new Date().toISOString(), await createTestContext());
const { ctx, list } = world;

/** Each kind of trigger that has a slot at this time, in UTC. */
function triggersAt(slot: Date): readonly object[] {
  const [date, at] = [slot.toISOString().slice(0, 10), slot.toISOString().slice(11, 16)];
  return [
    { type: 'weekly', weekdays: [1, 2, 3, 4, 5, 6, 7], at },
    { type: 'monthly', day: slot.getUTCDate(), at },
    { type: 'specific_date', date, at },
    { type: 'date_field', field: 'DAY', at },
  ];
}

const publish = (trigger: object) =>
  world.publish({
    ...{ triggers: [trigger], entry: { mode: 'after_end' } },
    ...{ nodes: [{ id: 'stop', type: 'end' }], edges: [{ from: 'start', to: 'stop' }] },
  });

test('three processes with clocks that differ, one of which is cut off again and again', async () => {
  await addListField(ctx, list.uid, { type: 'date', label: 'Day', tag: 'DAY' });
  await updateList(ctx, list.uid, { timezone: 'UTC' });
  const now = new Date();
  const past = new Date(now.getTime() - MINUTE_MS);
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
    SELECT ${list.customerId}, ${list.id}, 's' || n || '@slot.example', 's' || n || '@slot.example', 'subscribed',
           jsonb_build_object('DAY', ${past.toISOString().slice(0, 10)}::text)
      FROM generate_series(1, ${PEOPLE}::int) n`);
  const due = await Promise.all(triggersAt(past).map(publish));
  // It has come by the clock of one of them only.
  const early = await Promise.all(triggersAt(new Date(now.getTime() + 50 * MINUTE_MS)).map(publish));
  await settleTriggers(ctx, list.customerId, new Date(now.getTime() - 3 * MINUTE_MS));

  const databases = CLOCKS_MS.map((offMs) => {
    const options = { url: ctx.database.url, poolSize: 3, log: silentLog, applicationName: `flows ${offMs}` };
    return { database: openDatabase(options), clock: { now: () => new Date(Date.now() + offMs) } };
  });
  const wakers = databases.map(({ database, clock }) => startFlowWaker({ ...ctx, db: database, database, clock }));
  const cut = setInterval(() => {
    ctx.db
      .execute(
        sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flows 0' AND datname = current_database()`,
      )
      .catch(() => undefined);
  }, 200);
  const entries = async ({ key }: (typeof due)[number]) => {
    const [row] = await queryRows<{ entries: number; people: number }>(
      ctx.db,
      sql`SELECT count(*)::int AS entries, count(DISTINCT person_id)::int AS people FROM hot.flow_step
           WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} AND what = 'entered'`,
    );
    return row;
  };
  const all = { entries: PEOPLE, people: PEOPLE };
  const none = { entries: 0, people: 0 };
  await expect
    .poll(() => Promise.all(due.map(entries)), { timeout: 120_000, interval: 100 })
    .toEqual(due.map(() => all));
  clearInterval(cut);
  // A further look of each finds nothing.
  for (const waker of wakers) waker.wake();
  await Promise.all(wakers.map((waker) => waker.stop(10_000)));
  await Promise.all(databases.map(({ database }) => database.close()));
  expect(await Promise.all(due.map(entries))).toEqual(due.map(() => all));
  expect(await Promise.all(early.map(entries))).toEqual(early.map(() => none));
});
