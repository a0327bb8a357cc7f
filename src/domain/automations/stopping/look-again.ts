/**
 * A flow goes on after it was stopped: nobody read what happened to people meanwhile (D71). A job looks at those who have changed: who has
 * gone leaves, also where nothing else would end the wait, and a date that has moved moves the wake (D76). Repeating it is harmless.
 */
import { lookAgainJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Queryable } from '../../../db/database.ts';
import { movedAmong, peopleById } from '../../audience/people-store.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { automationStatus } from '../automation-store.ts';
import { lockRuns, type AwaitingRun } from '../runs/awaiting-run-store.ts';
import { nextChanged } from './changed-run-read-model.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import { moveOf, whyGone } from '../runs/move-of.ts';
import type { Outcome } from '../work/node-work.ts';
import type { Move } from '../runs/run.ts';
import { findByKeys, moveRuns } from '../runs/run-store.ts';
import { waitsForDate } from '../engine/changed-date.ts';
import { wakeFlows } from '../runs/wake-flows.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import type { Zones } from '../runs/zones.ts';

/** One transaction of some 100 ms. */
const RUNS_AT_ONCE = 1_000;
/** How often it is asked whether a flow that was stopped again goes on. */
const STOPPED_SECONDS = 60;
/** Changes carry the time at which their transaction began: an import may take that long. */
const CHANGE_MS_MAX = 3_600_000;

export interface LookAgain {
  readonly customerId: bigint;
  readonly automationId: bigint;
  /** When somebody read last what happened to people. */
  readonly since: Date;
}

/** In the transaction that activates the flow. */
export async function enqueueLookAgain(db: Queryable, { customerId, automationId, since }: LookAgain): Promise<void> {
  await enqueue(db, lookAgainJob, { customerId: String(customerId), automationId: String(automationId), since });
}

/** The job. When the process stops it begins anew in another one: who was looked at already is as they are. */
export async function lookAgain(
  ctx: Context,
  given: LookAgain & { readonly now?: Date },
  isStopping: () => boolean,
): Promise<void> {
  for (let after: bigint | undefined = 0n; after !== undefined;) {
    if (isStopping()) return enqueueLookAgain(ctx.db, given);
    const now = given.now ?? (await databaseNow(ctx.db));
    const place: bigint = after;
    const next = await inTransaction(ctx, (tx) => lookAtSome(tx, { ...given, now, after: place }));
    if (next === 'stopped') {
      const again = { customerId: String(given.customerId), automationId: String(given.automationId) };
      return enqueue(ctx.db, lookAgainJob, { ...again, since: given.since }, { delaySeconds: STOPPED_SECONDS });
    }
    after = next;
  }
}

/** The last run that it looked at; undefined: there are no more. */
async function lookAtSome(
  ctx: TransactionContext,
  { customerId, automationId, since, after, now }: LookAgain & { readonly after: bigint; readonly now: Date },
): Promise<bigint | undefined | 'stopped'> {
  const key = { customerId, automationId };
  const status = await automationStatus(ctx.db, key);
  if (status !== 'active') return status === undefined ? undefined : 'stopped';
  await findByKeys(ctx.tx);
  const from = new Date(since.getTime() - CHANGE_MS_MAX);
  const looked = await nextChanged(ctx.tx, key, { since: from, after, max: RUNS_AT_ONCE });
  const changed = looked.filter(({ hasChanged }) => hasChanged);
  const held = changed.length > 0 ? await lockRuns(ctx.tx, key, changed) : [];
  let moved = 0;
  for (const [version, runs] of [...Map.groupBy(held, (run) => run.version)].toSorted(([a], [b]) => a - b)) {
    const live = await liveFlow(ctx, { ...key, version });
    const moves = live ? await movesOf(ctx, live, { runs, now }) : [];
    await moveRuns(ctx.tx, { ...key, version }, { moves, now });
    moved += moves.length;
  }
  if (moved > 0) await wakeFlows(ctx.tx);
  return looked.length < RUNS_AT_ONCE ? undefined : looked.at(-1)?.id;
}

interface Held {
  readonly runs: readonly AwaitingRun[];
  readonly now: Date;
}

async function movesOf(ctx: TransactionContext, live: LiveFlow, { runs, now }: Held): Promise<readonly Move[]> {
  const list = { customerId: live.key.customerId, listId: live.listId };
  const zones = await zonesOfList(ctx.db, list);
  if (!zones) return [];
  const ids = runs.map(({ personId }) => personId);
  const people = await peopleById(ctx.db, { ...list, ids });
  const movedAway = await movedAmong(ctx.db, {
    ...list,
    ids: ids.filter((id) => people.get(id)?.status === 'unsubscribed'),
  });
  return runs.flatMap((run): Move[] => {
    const node = live.graph.nodes.get(run.node);
    const person = people.get(run.personId) ?? null;
    const why = whyGone({ person, hasLeft: run.hasLeft });
    const gone = why === 'unsubscribed' && movedAway.has(run.personId) ? 'moved' : why;
    const outcome = node && outcomeOf(live, run, { gone, zones, now });
    return node && outcome ? [{ ...moveOf(node, run, outcome), wasParked: run.isParked }] : [];
  });
}

interface Look {
  readonly gone: string | undefined;
  readonly zones: Zones;
  readonly now: Date;
}

/** Undefined: it stays as it is. */
function outcomeOf({ graph }: LiveFlow, run: AwaitingRun, { gone, zones, now }: Look): Outcome | undefined {
  if (gone !== undefined) return { leave: gone };
  const isWaiting = run.isWaiting && run.wakeAt !== null && run.wakeAt > now;
  return isWaiting && waitsForDate(graph.nodes.get(run.node), zones) ? { waitUntil: now } : undefined;
}
