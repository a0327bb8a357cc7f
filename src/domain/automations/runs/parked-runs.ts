/** Runs that failed and are parked (D87): all of a node are tried again, or pass over it. And taking one person out of a flow. */
import { unparkJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { ValidationError } from '../../../lib/errors.ts';
import { parseInput } from '../../../lib/text.ts';
import { findSubscriber } from '../../audience/find-subscriber.ts';
import type { Queryable } from '../../../db/database.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { versionInMove } from '../versions/asked-move-store.ts';
import { parkedInMove } from '../automation-errors.ts';
import { moveOf } from './move-of.ts';
import { databaseNow } from './clock-read-model.ts';
import { sumOfCounts } from './count-read-model.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { liveFlow } from './live-flow.ts';
import { lockRunsOfPerson, unparkRuns } from './parked-run-store.ts';
import { findByKeys, moveRuns } from './run-store.ts';
import { RUN_REQUESTS, type NodeKey } from './run.ts';
import { placeInput } from './seen-run.ts';
import { wakeFlows } from './wake-flows.ts';

export interface ParkedPlace {
  readonly version: number;
  readonly node: string;
}

/** They do their node's work once more, with all tries. Returns how many. Throws ValidationError, WrongStateError `PEOPLE_IN_MOVE`, `AUTOMATION_NOT_FOUND`. */
export function retryParked(ctx: Context, uid: string, place: ParkedPlace): Promise<number> {
  return unpark(ctx, uid, { place, request: null });
}

/** They go on as if the node had done its work, with the reason `skipped`. Returns how many. Throws what `retryParked` throws. */
export function skipParked(ctx: Context, uid: string, place: ParkedPlace): Promise<number> {
  return unpark(ctx, uid, { place, request: RUN_REQUESTS.skip });
}

/** One transaction of some 100 ms. */
const RUNS_AT_ONCE = 1_000;

interface Asked {
  readonly place: ParkedPlace;
  readonly request: string | null;
}

/**
 * The workers move them: of a flow that is stopped, when it goes on. Of many the first are due at once, and a job makes the others due: a move to
 * another version waits for it, or it for the move. Publishing locks the automation, so one of them comes first.
 */
async function unpark(ctx: Context, uid: string, { place, request }: Asked): Promise<number> {
  const { version, node } = parseInput(placeInput, { version: place.version, node: place.node });
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: automationId } = await findOwnedAutomation(tx, uid, 'change');
    const key = { customerId, automationId, version, node };
    const counts = await sumOfCounts(tx.db, key, { version, node });
    const { runs, last } = await unparkSome(tx, key, { request, afterId: 0n });
    if (last === undefined) return runs;
    const inMove = await versionInMove(tx.db, key);
    if (inMove !== undefined && version < inMove) throw parkedInMove(inMove);
    await enqueueUnparking(tx.db, { ...key, request, afterId: last });
    return Math.max(runs, Number(counts?.parked ?? 0n));
  });
}

export interface UnparkingRuns extends NodeKey {
  readonly request: string | null;
  readonly afterId: bigint;
}

/** The job: makes due who was parked at the node behind this run, a batch at a time. What is done is not done again. */
export async function unparkOthers(
  ctx: Context,
  { afterId, request, ...key }: UnparkingRuns,
  isStopping: () => boolean,
): Promise<void> {
  for (let after: bigint | undefined = afterId; after !== undefined;) {
    const place: bigint = after;
    if (isStopping()) return enqueueUnparking(ctx.db, { ...key, request, afterId: place });
    after = (await inTransaction(ctx, (tx) => unparkSome(tx, key, { request, afterId: place }))).last;
  }
}

/** `last`: there may be more behind it. */
async function unparkSome(
  { tx, db }: TransactionContext,
  key: NodeKey,
  { request, afterId }: Pick<UnparkingRuns, 'request' | 'afterId'>,
): Promise<{ readonly runs: number; readonly last: bigint | undefined }> {
  const ids = await unparkRuns(tx, key, { request, now: await databaseNow(db), afterId, max: RUNS_AT_ONCE });
  if (ids.length > 0) await wakeFlows(tx);
  return { runs: ids.length, last: ids.length < RUNS_AT_ONCE ? undefined : ids.at(-1) };
}

async function enqueueUnparking(db: Queryable, { customerId, automationId, afterId, ...rest }: UnparkingRuns) {
  const ids = { customerId: String(customerId), automationId: String(automationId), afterId: String(afterId) };
  await enqueue(db, unparkJob, { ...ids, ...rest });
}

/**
 * Takes the person out of the flow, wherever it is in it, with the reason `taken_out`. Returns how many runs ended: several of a flow with
 * keys. Throws ValidationError, `AUTOMATION_NOT_FOUND`, `SUBSCRIBER_NOT_FOUND`.
 */
export async function takeOut(
  ctx: Context,
  uid: string,
  { subscriber }: { readonly subscriber: string },
): Promise<number> {
  if (subscriber.trim() === '') throw new ValidationError({ subscriber: ['The subscriber field is required.'] });
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: automationId, listUid } = await findOwnedAutomation(tx, uid);
    const { id: personId } = await findSubscriber(tx, { subscriber, listUid });
    await findByKeys(tx.tx);
    const runs = await lockRunsOfPerson(tx.tx, { customerId, automationId, personId });
    const now = await databaseNow(tx.db);
    for (const { version, node, state, ...run } of runs)
      await endRun(tx, { key: { customerId, automationId, version, node }, run, wasParked: state === 'parked', now });
    return runs.length;
  });
}

interface Ending {
  readonly key: NodeKey;
  readonly run: Parameters<typeof moveOf>[1];
  readonly wasParked: boolean;
  readonly now: Date;
}

async function endRun(ctx: TransactionContext, { key, run, wasParked, now }: Ending): Promise<void> {
  const node = (await liveFlow(ctx, key))?.graph.nodes.get(key.node);
  if (!node) throw new Error('The version of the flow, or its node, is gone.');
  await moveRuns(ctx.tx, key, { moves: [{ ...moveOf(node, run, { leave: 'taken_out' }), wasParked }], now });
}
