/**
 * The job that moves people to a version of their flow (D84), some hundred in each transaction: what dies in the middle has not happened, and
 * who has been moved is not found again. A last round after a minute finds who was on the way into an earlier version while it was published.
 */
import { movePeopleJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Queryable } from '../../../db/database.ts';
import { peopleById } from '../../audience/people-store.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { targetOf } from './flow-moves.ts';
import { fireForArrivals } from '../work/fire-webhooks.ts';
import { latenessOf, type Lateness } from './late-moves.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import { movedRun, type MovedRun, type PlacedRun } from './moved-run.ts';
import { isUnparking } from '../engine/queued-job-read-model.ts';
import type { VersionKey } from '../runs/run.ts';
import { findByKeys } from '../runs/run-store.ts';
import { askedMoves, endLastRound, endMoves, type AskedMoves } from './asked-move-store.ts';
import { lockRunsBefore, moveToVersion } from './version-move-store.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import { wakeFlows } from '../runs/wake-flows.ts';
import { workDone } from './work-done.ts';

/** One transaction of some 100 ms. */
const RUNS_AT_ONCE = 500;
/** No transaction that was entering people then is still open. */
const LAST_ROUND_SECONDS = 60;
/** How often it is asked whether parked runs are still being made due. */
const UNPARKING_SECONDS = 5;

export interface MovingPeople extends VersionKey {
  /** Runs up to this one were looked at before. */
  readonly afterId: bigint;
  /** The round after all have been moved. */
  readonly isLast: boolean;
}

export async function enqueueMoves(
  db: Queryable,
  { customerId, automationId, version, afterId, isLast }: MovingPeople,
  delaySeconds?: number,
): Promise<void> {
  const ids = { customerId: String(customerId), automationId: String(automationId), afterId: String(afterId) };
  await enqueue(db, movePeopleJob, { ...ids, version, isLast }, delaySeconds === undefined ? {} : { delaySeconds });
}

/** It continues in another job when the process stops. Repeating it is harmless. */
export async function movePeople(
  ctx: Context,
  { afterId, isLast, now, ...key }: MovingPeople & { readonly now?: Date },
  isStopping: () => boolean,
): Promise<void> {
  // Who is to be made due at their node would not be found at another one.
  if (await isUnparking(ctx.db, key)) return enqueueMoves(ctx.db, { ...key, afterId, isLast }, UNPARKING_SECONDS);
  for (let after: bigint | undefined = afterId; after !== undefined;) {
    const place: bigint = after;
    if (isStopping()) return enqueueMoves(ctx.db, { ...key, afterId: place, isLast });
    after = await inTransaction(ctx, (tx) => moveSome(tx, key, { afterId: place, now }));
  }
  if (isLast) return endLastRound(ctx.db, key);
  await inTransaction(ctx, async (tx) => {
    await endMoves(tx.db, key);
    await enqueueMoves(tx.db, { ...key, afterId: 0n, isLast: true }, LAST_ROUND_SECONDS);
  });
}

/** The last run that it looked at; undefined: there are no more. */
async function moveSome(
  ctx: TransactionContext,
  key: VersionKey,
  { afterId, now: given }: { readonly afterId: bigint; readonly now: Date | undefined },
): Promise<bigint | undefined> {
  const live = await liveFlow(ctx, key);
  const asked = await askedMoves(ctx.db, key);
  if (!live || !asked) return undefined;
  await findByKeys(ctx.tx);
  const runs = await lockRunsBefore(ctx.tx, key, { afterId, max: RUNS_AT_ONCE });
  const last = runs.length < RUNS_AT_ONCE ? undefined : runs.at(-1)?.id;
  if (runs.length === 0) return undefined;
  const now = given ?? (await databaseNow(ctx.db));
  const moved = await movedRuns(ctx, live, { runs, asked, now });
  await moveToVersion(ctx.tx, key, { moved, now });
  await fireForArrivals(ctx, live, arrivals(moved));
  if (moved.some(({ to }) => to.state === 'due')) await wakeFlows(ctx.tx);
  return last;
}

interface Batch {
  readonly runs: readonly PlacedRun[];
  readonly asked: AskedMoves;
  readonly now: Date;
}

/** Whoever is at a node for which nobody has named a target finishes on their version: nobody was there when it was published. */
async function movedRuns(
  ctx: TransactionContext,
  live: LiveFlow,
  { runs, asked, now }: Batch,
): Promise<readonly MovedRun[]> {
  const list = { customerId: live.key.customerId, listId: live.listId };
  const zones = await zonesOfList(ctx.db, list);
  if (!zones) return [];
  const people = await peopleById(ctx.db, { ...list, ids: runs.map(({ personId }) => personId) });
  const done = await workDone(ctx, live.key, runs);
  const lateness = new Map<string, Lateness>();
  const moved: MovedRun[] = [];
  for (const run of runs) {
    if (run.state === 'parked' && !asked.moveParked) continue;
    const before = await liveFlow(ctx, { ...live.key, version: run.version });
    const type = before?.graph.nodes.get(run.node)?.type;
    const target = targetOf(live.graph.nodes, asked.moves, { node: run.node, type });
    if (!before || !target) continue;
    const name = `${run.version} ${run.node}`;
    const late = lateness.get(name) ?? (await latenessOf(ctx, { ...live.key, version: run.version, node: run.node }));
    lateness.set(name, late);
    const person = people.get(run.personId) ?? null;
    const worked = done.get(run.id) ?? [];
    moved.push(late.chosenFor(run, movedRun(run, { before, live, target, worked, person, zones, now })));
  }
  for (const late of lateness.values()) late.count(ctx.tx);
  return moved;
}

/** Who was at the node already has been told of. */
function arrivals(moved: readonly MovedRun[]) {
  return moved.flatMap(({ run, isThere, to: { node, state, wakeAt } }) =>
    state === 'parked' || isThere ? [] : [{ run, to: { node, state, wakeAt } }],
  );
}
