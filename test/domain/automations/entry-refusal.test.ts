/** Whoever lets a portion of people in reads the entries of these people, not those of everybody who has entered the flow. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { refusedAmong } from '../../../src/domain/automations/entries/entry-refusal-read-model.ts';
import { liveFlow } from '../../../src/domain/automations/runs/live-flow.ts';
import { findByKeys } from '../../../src/domain/automations/runs/run-store.ts';
import { inTransaction } from '../../../src/domain/context.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const PEOPLE = 3_000;
const PORTION = 100;
const STOP = { nodes: [{ id: 'stop', type: 'end' }], edges: [{ from: 'start', to: 'stop' }] };

test('a portion costs what its people cost, when the statistics know nothing of the flow', async () => {
  const world = await startFlowWorld(new Date().toISOString());
  const { ctx } = world;
  const [known, flow] = [
    await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP }),
    await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP }),
  ];
  const ids = await subscriberPeople(ctx.db, world.list, PEOPLE);
  await ctx.db.execute(sql`ALTER TABLE hot.flow_entry SET (autovacuum_enabled = off)`);
  for (const { key } of [known, flow]) {
    await ctx.db.execute(
      sql`INSERT INTO hot.flow_entry (customer_id, automation_id, person_id, run_id, entered_at)
          SELECT ${key.customerId}, ${key.automationId}, id, id, now() FROM unnest(${ids}::bigint[]) AS i (id)`,
    );
    if (key === known.key) await ctx.db.execute(sql`ANALYZE hot.flow_entry`);
  }
  const live = await liveFlow(ctx, flow.key);
  expect(live).toBeDefined();
  const read = await inTransaction(ctx, async (tx) => {
    await findByKeys(tx.tx);
    const asked = ids.slice(-PORTION);
    const refused = live && (await refusedAmong(tx.db, live, { ids: asked, now: new Date() }));
    expect([...(refused ?? [])]).toEqual(expect.arrayContaining(asked.map((id) => [id, 'entered_before'])));
    const [row] = await queryRows<{ entries: number }>(
      tx.db,
      sql`SELECT pg_stat_get_xact_tuples_returned('hot.flow_entry_pkey'::regclass)::int AS entries`,
    );
    return row?.entries;
  });
  // Planning reads some, too.
  expect(read).toBeLessThanOrEqual(3 * PORTION);
});
