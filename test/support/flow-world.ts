/** A list with people and flows, and a clock that tests move: the engine as its workers run it. */
import { sql } from '../../src/db/database.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { addSubscriber } from '../../src/domain/audience/add-subscriber.ts';
import { advanceDue } from '../../src/domain/automations/engine/advance-due.ts';
import { createAutomation } from '../../src/domain/automations/create-automation.ts';
import { enterPeople, type Entrant } from '../../src/domain/automations/entries/enter-people.ts';
import { followPeople } from '../../src/domain/automations/events/follow-people.ts';
import { liveFlow } from '../../src/domain/automations/runs/live-flow.ts';
import { publishAutomation } from '../../src/domain/automations/versions/publish-automation.ts';
import { setAutomationStatus } from '../../src/domain/automations/stopping/set-automation-status.ts';
import { inTransaction, type Context } from '../../src/domain/context.ts';
import { createTenant, newList } from './tenant.ts';
import { createTestContext } from './test-context.ts';

export interface Step {
  readonly node: string;
  readonly what: string;
  readonly port: string | null;
  readonly reason: string | null;
}

/** Histories are written months before and after the tests' clock, whatever the date is. */
const DAYS_BEFORE = 31;
const DAYS_AFTER = 93;

/** With a context: in its database, as another customer. */
export async function startFlowWorld(beginsAt = '2026-11-27T08:00:00Z', given?: Context) {
  const ctx = await createTenant(given ?? (await createTestContext()));
  const list = await newList(ctx);
  await ctx.db.execute(
    sql`SELECT hot.ensure_partitions(${beginsAt}::timestamptz::date - ${DAYS_BEFORE}::int, ${beginsAt}::timestamptz::date + ${DAYS_AFTER}::int)`,
  );
  let now = new Date(beginsAt);
  let people = 0;

  /** Publishes the flow and activates it. */
  const publish = async (flow: object) => {
    const { uid } = await createAutomation(ctx, { listUid: list.uid, name: 'Flow', flow });
    const { number } = await publishAutomation(ctx, uid, 1);
    await setAutomationStatus(ctx, uid, 'active');
    const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM automation WHERE uid = ${uid}`);
    if (!row) throw new Error('The automation is not there.');
    return { uid, key: { customerId: list.customerId, automationId: row.id, version: number } };
  };
  type Published = Awaited<ReturnType<typeof publish>>;

  const enter = async ({ key }: Published, ids: readonly bigint[], more: Partial<Entrant> = {}, as: Context = ctx) => {
    const live = await liveFlow(as, key);
    if (!live) throw new Error('The version is not there.');
    const entrants = ids.map((personId) => ({
      ...{ personId, entryKey: '', payload: null, depth: 0, reason: 'execute', ...more },
    }));
    return inTransaction(as, (tx) => enterPeople(tx, live, { entrants, now }));
  };

  return {
    ctx,
    list,
    publish,
    enter,
    now: () => now,
    /** Does all that is due now; a later time is set before. */
    async run(at?: string): Promise<number> {
      if (at !== undefined) now = new Date(at);
      return advanceDue(ctx, { now: () => now, isStopping: () => false });
    },
    /** Reads what has happened to people, as workers do. */
    follow: () => followPeople(ctx, { isStopping: () => false }),
    async person(changes: object = {}): Promise<bigint> {
      people += 1;
      const { id } = await addSubscriber(ctx, { listUid: list.uid, email: `p${people}@example.org`, ...changes });
      return id;
    },
    steps: async (personId: bigint): Promise<string[]> => {
      const rows = await queryRows<Step>(
        ctx.db,
        sql`SELECT node, what, port, reason FROM hot.flow_step WHERE customer_id = ${list.customerId} AND person_id = ${personId} ORDER BY at, run_id, no`,
      );
      return rows.map(({ node, what, port, reason }) => [node, what, port, reason].filter(Boolean).join(' '));
    },
    counts: async ({ key }: Published) => {
      const rows = await queryRows<Record<string, unknown> & { node: string }>(
        ctx.db,
        sql`SELECT node, entered::int, waiting::int, passed::int, "left"::int, parked::int FROM hot.flow_node
             WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} AND version = ${key.version} ORDER BY node`,
      );
      return Object.fromEntries(
        rows.map(({ node, ...count }) => [
          node,
          Object.entries(count)
            .flatMap(([name, n]) => (n === 0 ? [] : [`${name} ${String(n)}`]))
            .join(', '),
        ]),
      );
    },
    /** Tables that still have something of the person, or of any automation without its row. */
    leftOf: async (personId: bigint): Promise<string[]> => {
      const rows = await queryRows<{ table: string }>(
        ctx.db,
        sql`SELECT 'run' AS table FROM hot.flow_run WHERE person_id = ${personId}
            UNION ALL SELECT 'step' FROM hot.flow_step WHERE person_id = ${personId}
            UNION ALL SELECT 'entry' FROM hot.flow_entry WHERE person_id = ${personId}
            UNION ALL SELECT 'node' FROM hot.flow_node n WHERE NOT EXISTS (SELECT 1 FROM automation a WHERE a.id = n.automation_id)
            UNION ALL SELECT 'payload' FROM hot.flow_payload p WHERE NOT EXISTS (SELECT 1 FROM automation a WHERE a.id = p.automation_id)`,
      );
      return rows.map(({ table }) => table);
    },
    personRow: async (personId: bigint) => {
      const [row] = await queryRows<{ email: string; status: string; tags: string[]; fields: Record<string, string> }>(
        ctx.db,
        sql`SELECT email, status, tags, fields FROM subscriber WHERE customer_id = ${list.customerId} AND id = ${personId}`,
      );
      return row;
    },
  };
}
