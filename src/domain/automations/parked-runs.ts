/** Runs that failed and are parked (D87): all of a node are tried again, or pass over it. And taking one person out of a flow. */
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { findSubscriber } from '../audience/find-subscriber.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { moveOf } from './move-of.ts';
import { databaseNow } from './clock-read-model.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';
import { liveFlow } from './live-flow.ts';
import { lockRunsOfPerson, unparkRuns } from './parked-run-store.ts';
import { findByKeys, moveRuns } from './run-store.ts';
import { RUN_REQUESTS } from './run.ts';
import { placeInput } from './seen-run.ts';
import { wakeFlows } from './wake-flows.ts';

export interface ParkedPlace {
  readonly version: number;
  readonly node: string;
}

/** They do their node's work once more, with all tries. Returns how many. Throws ValidationError, `AUTOMATION_NOT_FOUND`. */
export function retryParked(ctx: Context, uid: string, place: ParkedPlace): Promise<number> {
  return unpark(ctx, uid, { place, request: null });
}

/** They go on as if the node had done its work, with the reason `skipped`. Returns how many. Throws ValidationError, `AUTOMATION_NOT_FOUND`. */
export function skipParked(ctx: Context, uid: string, place: ParkedPlace): Promise<number> {
  return unpark(ctx, uid, { place, request: RUN_REQUESTS.skip });
}

interface Unparking {
  readonly place: ParkedPlace;
  readonly request: string | null;
}

/** The workers move them: of a flow that is stopped, when it goes on. */
async function unpark(ctx: Context, uid: string, { place, request }: Unparking): Promise<number> {
  const { version, node } = parseInput(placeInput, { version: place.version, node: place.node });
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: automationId } = await findOwnedAutomation(tx, uid);
    const now = await databaseNow(tx.db);
    const runs = await unparkRuns(tx.tx, { customerId, automationId, version, node }, { request, now });
    if (runs > 0) await wakeFlows(tx.tx);
    return runs;
  });
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
  readonly key: Parameters<typeof unparkRuns>[1];
  readonly run: Parameters<typeof moveOf>[1];
  readonly wasParked: boolean;
  readonly now: Date;
}

async function endRun(ctx: TransactionContext, { key, run, wasParked, now }: Ending): Promise<void> {
  const node = (await liveFlow(ctx, key))?.graph.nodes.get(key.node);
  if (!node) throw new Error('The version of the flow, or its node, is gone.');
  await moveRuns(ctx.tx, key, { moves: [{ ...moveOf(node, run, { leave: 'taken_out' }), wasParked }], now });
}
