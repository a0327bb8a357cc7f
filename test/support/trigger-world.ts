/** Flows whose triggers look at people by themselves, with a clock that tests move, in years that are over: they begin at its time, and people change at it. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { runTriggers } from '../../src/domain/automations/triggers/run-triggers.ts';
import type { Context } from '../../src/domain/context.ts';
import { startFlowWorld } from './flow-world.ts';

const END = { nodes: [{ id: 'stop', type: 'end' }], edges: [{ from: 'start', to: 'stop' }] };

/** What happened to the customer's triggers since the clock was moved happened at `now`. */
export async function settleTriggers({ db }: Pick<Context, 'db'>, customerId: bigint, now: Date): Promise<void> {
  const isFresh = (time: string) => sql`customer_id = ${customerId} AND ${sql([time])} > now() - interval '1 hour'`;
  await db.execute(
    sql`UPDATE hot.flow_trigger SET started_at = ${now}, walk_from = ${now}, walked_at = ${now} WHERE ${isFresh('started_at')}`,
  );
  await db.execute(sql`UPDATE hot.flow_trigger SET retry_at = NULL WHERE ${isFresh('retry_at')}`);
  await db.execute(sql`UPDATE hot.flow_changed SET changed_at = ${now} WHERE ${isFresh('changed_at')}`);
}

export async function startTriggerWorld(beginsAt: string, given: Context) {
  const world = await startFlowWorld(beginsAt, given);
  const { ctx, list } = world;
  let now = new Date(beginsAt);
  await ctx.db.execute(
    sql`SELECT hot.ensure_partitions(${beginsAt}::timestamptz::date, ${beginsAt}::timestamptz::date + 400)`,
  );

  const settle = () => settleTriggers(ctx, list.customerId, now);

  return {
    ...world,
    /** A flow of these triggers that ends at once. */
    async watch(triggers: readonly object[], more: object = {}) {
      const flow = await world.publish({ triggers, entry: { mode: 'after_end' }, ...END, ...more });
      await settle();
      return flow;
    },
    settle,
    /** Does all that triggers have to do at a time. */
    async look(at?: string, as: Context = ctx): Promise<number> {
      await settle();
      if (at !== undefined) now = new Date(at);
      return runTriggers(as, { now: () => now, isStopping: () => false });
    },
    /** Sets the clock without any work. */
    async setClock(at: string) {
      await settle();
      now = new Date(at);
    },
    /** The flow's entries: person and time, in their order. */
    entries: async ({ key }: { readonly key: { readonly automationId: bigint } }) =>
      queryRows<{ personId: bigint; at: Date; reason: string }>(
        ctx.db,
        sql`SELECT person_id AS "personId", at, reason FROM hot.flow_step
             WHERE customer_id = ${list.customerId} AND automation_id = ${key.automationId} AND what = 'entered' ORDER BY at, person_id`,
      ),
    /** What came of the days of the flow's triggers. */
    days: async ({ key }: { readonly key: { readonly automationId: bigint } }) => {
      const rows = await queryRows<Record<string, unknown> & { day: string }>(
        ctx.db,
        sql`SELECT day::text, entered, refused, not_matching, late FROM hot.flow_slot
             WHERE customer_id = ${list.customerId} AND automation_id = ${key.automationId} ORDER BY day, trigger_id`,
      );
      return rows.map(({ day, ...counts }) =>
        [day, ...Object.entries(counts).flatMap(([name, n]) => (n === 0 ? [] : [`${name} ${String(n)}`]))].join(' '),
      );
    },
  };
}
