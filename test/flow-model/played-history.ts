/** Plays a history on the product's engine: what it has written down then, to be compared with the reference. */
import { setImmediate } from 'node:timers/promises';
import { openDatabase, sql } from '../../src/db/database.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { addListField } from '../../src/domain/audience/add-list-field.ts';
import { addSubscriber } from '../../src/domain/audience/add-subscriber.ts';
import { deleteSubscriber } from '../../src/domain/audience/delete-subscriber.ts';
import { tagSubscriber } from '../../src/domain/audience/tag-subscriber.ts';
import { unsubscribeSubscriber } from '../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateList } from '../../src/domain/audience/update-list.ts';
import { updateSubscriber } from '../../src/domain/audience/update-subscriber.ts';
import { advanceDue } from '../../src/domain/automations/advance-due.ts';
import { createAutomation } from '../../src/domain/automations/create-automation.ts';
import { enterPeople, type EntryAnswer } from '../../src/domain/automations/enter-people.ts';
import { liveFlow } from '../../src/domain/automations/live-flow.ts';
import { publishAutomation } from '../../src/domain/automations/publish-automation.ts';
import { deleteAutomation } from '../../src/domain/automations/delete-automation.ts';
import { setAutomationStatus } from '../../src/domain/automations/set-automation-status.ts';
import { updateAutomation } from '../../src/domain/automations/update-automation.ts';
import { inTransaction } from '../../src/domain/context.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { silentLog } from '../../src/lib/log.ts';
import { startFlowWorld } from '../support/flow-world.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import type { FlowData, Happening, HistoryData, Payload, Step } from './flow-data.ts';
import { nameOf, waitLines, type NodeCounts, type Waiting } from './reference.ts';

/** PostgreSQL ends what a dead process had begun when it notices: then its rows are free. */
const DYING = 'mailwright-dying';
export const LIST_ZONE = 'Asia/Kolkata';

export interface Played {
  readonly steps: readonly Step[];
  readonly refusals: readonly (string | undefined)[];
  /** After each work: who waits where until when. */
  readonly waits: readonly (readonly string[])[];
  readonly people: readonly { readonly status: string; readonly tags: readonly string[]; readonly level: string }[];
  readonly counts: ReadonlyMap<string, NodeCounts>;
}

export type Player = (history: HistoryData) => Promise<Played>;

/** A list in a database of its own; histories are played one after the other. */
export async function startPlayer(): Promise<Player> {
  const world = await startFlowWorld();
  const { ctx, list } = world;
  await addListField(ctx, list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });
  await addListField(ctx, list.uid, { type: 'text', label: 'Zone', tag: 'ZONE' });
  await addListField(ctx, list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });
  await updateList(ctx, list.uid, { timezone: LIST_ZONE, timezoneTag: 'ZONE' });
  await ctx.db.execute(sql`SELECT hot.ensure_partitions('2026-02-15', '2026-06-15')`);
  const proxy = await startCuttingProxy(ctx.database.url);
  let made = 0;

  async function play({ flows, people, happenings }: HistoryData): Promise<Played> {
    const ids: bigint[] = [];
    for (const { ...fieldValues } of people) {
      made += 1;
      const { id } = await addSubscriber(ctx, { listUid: list.uid, email: `m${made}@example.org`, fieldValues });
      ids.push(id);
    }
    const [first] = flows;
    const { uid } = await createAutomation(ctx, { listUid: list.uid, name: 'Model', flow: first });
    let draft = 1;
    let { number: version } = await publishAutomation(ctx, uid, draft);
    await setAutomationStatus(ctx, uid, 'active');
    const [automation] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM automation WHERE uid = ${uid}`);
    if (!automation) throw new Error('The automation is not there.');
    const key = { customerId: list.customerId, automationId: automation.id };
    const refOf = (person: number) => ({ subscriber: subscriberUid(ids[person] ?? 0n), listUid: list.uid });
    const refusals: (string | undefined)[] = [];
    const waits: (readonly string[])[] = [];

    async function execute(person: number, payload: Payload, now: Date): Promise<string | undefined> {
      const live = await liveFlow(ctx, { ...key, version });
      if (!live) throw new Error('The version is not there.');
      const entry = live.flow.entry;
      const entryKey = entry.mode === 'per_key' ? String(payload[entry.key] ?? '') : '';
      const entrant = { personId: ids[person] ?? 0n, entryKey, payload, depth: 0, reason: 'execute' };
      const [answer] = await inTransaction(ctx, (tx) => enterPeople(tx, live, { entrants: [entrant], now }));
      return answer && refusalOf(answer);
    }

    async function publish(flow: FlowData | undefined): Promise<void> {
      await updateAutomation(ctx, uid, { flow, draftVersion: draft });
      draft += 1;
      ({ number: version } = await publishAutomation(ctx, uid, draft));
    }

    async function happens(one: Happening): Promise<void> {
      const now = new Date(one.at);
      switch (one.do) {
        case 'execute':
          refusals.push(await execute(one.person, one.payload, now));
          return;
        case 'set':
          await ignoringGone(updateSubscriber(ctx, { ...refOf(one.person), fieldValues: { [one.field]: one.value } }));
          return;
        case 'tag':
          await ignoringGone(tagSubscriber(ctx, { ...refOf(one.person), tags: [one.tag] }));
          return;
        case 'unsubscribe':
          await ignoringGone(unsubscribeSubscriber(ctx, refOf(one.person)));
          return;
        case 'delete':
          await ignoringGone(deleteSubscriber(ctx, refOf(one.person)));
          return;
        case 'publish':
          await publish(flows[version]);
          return;
        case 'pause':
        case 'activate':
          await setAutomationStatus(ctx, uid, one.do === 'pause' ? 'inactive' : 'active', { mode: 'now' });
          return;
        case 'work':
          if (one.killAfter === undefined) await advanceDue(ctx, { now: () => now, isStopping: () => false });
          else await workAndDie(now, one.killAfter);
          if (one.killAfter === undefined) waits.push(await waitsNow());
      }
    }

    /** Its connections are cut after so many messages to the database: what a killed process leaves. */
    async function workAndDie(now: Date, killAfter: number): Promise<void> {
      const database = openDatabase({ url: proxy.url, poolSize: 2, log: silentLog, applicationName: DYING });
      proxy.cutAfter(killAfter);
      try {
        await advanceDue({ ...ctx, db: database, database }, { now: () => now, isStopping: () => false });
      } catch {
        // It has died.
      } finally {
        await database.close().catch(() => undefined);
      }
      const there = sql`SELECT 1 FROM pg_stat_activity WHERE application_name = ${DYING} AND datname = current_database()`;
      while ((await queryRows(ctx.db, there)).length > 0) await setImmediate();
    }

    for (const one of happenings) await happens(one);
    const played = { steps: await stepsOf(), refusals, waits, people: await peopleNow(), counts: await countsOf() };
    await deleteAutomation(ctx, uid);
    return played;

    async function stepsOf(): Promise<Step[]> {
      const rows = await queryRows<
        Omit<Step, 'at' | 'person' | 'run'> & { at: Date; person: bigint; key: string; enteredAt: Date }
      >(
        ctx.db,
        sql`SELECT s.at, s.person_id AS person, s.node, s.what, s.port, s.reason, coalesce(e.entry_key, '') AS key,
                   min(s.at) OVER (PARTITION BY s.run_id) AS "enteredAt"
              FROM hot.flow_step s LEFT JOIN hot.flow_entry e USING (customer_id, automation_id, run_id, person_id)
             WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} ORDER BY s.at, s.ctid`,
      );
      return rows.map(({ at, person, key: entryKey, enteredAt, ...step }) => ({
        ...{ ...step, at: at.getTime(), person: ids.indexOf(person), run: nameOf({ key: entryKey, enteredAt }) },
      }));
    }

    async function waitsNow(): Promise<readonly string[]> {
      const rows = await queryRows<Waiting & { id: bigint }>(
        ctx.db,
        sql`SELECT person_id AS id, entry_key AS key, entered_at AS "enteredAt", node, wake_at AS wake FROM hot.flow_run
             WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId}`,
      );
      return waitLines(rows.map(({ id, ...run }) => ({ ...run, person: ids.indexOf(id) })));
    }

    async function peopleNow(): Promise<Played['people']> {
      const rows = await queryRows<{ id: bigint; status: string; tags: string[]; level: string }>(
        ctx.db,
        sql`SELECT id, status, tags, coalesce(fields ->> 'LEVEL', '') AS level FROM subscriber WHERE customer_id = ${key.customerId} AND id = ANY (${ids}::bigint[])`,
      );
      const byId = new Map(rows.map(({ id, ...person }) => [id, person]));
      return ids.map((id) => byId.get(id) ?? { status: 'deleted', tags: [], level: '' });
    }

    async function countsOf(): Promise<Map<string, NodeCounts>> {
      const rows = await queryRows<NodeCounts & { version: number; node: string }>(
        ctx.db,
        sql`SELECT version::int, node, entered::int, waiting::int, passed::int, "left"::int FROM hot.flow_node
             WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId}`,
      );
      return new Map(rows.map(({ version: no, node, ...counts }) => [`${no - 1} ${node}`, counts]));
    }
  }
  return play;
}

function refusalOf(answer: EntryAnswer): string | undefined {
  if (!('refused' in answer)) return undefined;
  return answer.refused === 'unknown_person' ? 'SUBSCRIBER_NOT_FOUND' : answer.refused;
}

/** Who was deleted in a history is not there for what happens later. */
async function ignoringGone(act: Promise<unknown>): Promise<void> {
  await act.catch((error: unknown) => {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'SUBSCRIBER_NOT_FOUND') throw error;
  });
}
