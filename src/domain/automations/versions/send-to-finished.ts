/**
 * "Send to those who finished" (D84): a change of a flow lets nobody in who has finished it; somebody who sees how many they are may send them to a
 * node of the live version. What was done for them in their last run is not done again. A job lets them in, some hundred in each transaction.
 */
import { sendToFinishedJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Queryable } from '../../../db/database.ts';
import { createConcurrencyLimit } from '../../../lib/concurrency-limit.ts';
import { parseInput } from '../../../lib/text.ts';
import { peopleById } from '../../audience/people-store.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { moreHaveFinished, notActive, notPublished, tooManyFinishedCounts, unknownNode } from '../automation-errors.ts';
import { automationStatus } from '../automation-store.ts';
import type { Automation } from '../automation.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { liveVersionOf } from '../runs/count-read-model.ts';
import { doneBy, isDoneBefore } from '../runs/done-before.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { countFinished, enterFinished, nextFinished, type FinishedQuestion } from './finished-people-store.ts';
import { fireForArrivals } from '../work/fire-webhooks.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import { insertRuns, type NewRun } from '../runs/new-run-store.ts';
import { placeAt } from '../runs/place-at.ts';
import type { Place, Run } from '../runs/run.ts';
import { findByKeys } from '../runs/run-store.ts';
import { sendToFinishedInput } from './finished.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import { wakeFlows } from '../runs/wake-flows.ts';
import { workDone } from './work-done.ts';

/** One transaction of some 100 ms. */
const PEOPLE_AT_ONCE = 500;
/** How often it is asked whether a flow that was stopped goes on. */
const STOPPED_SECONDS = 60;

/** Of 100,000 people it takes a second: those of one customer are counted one after the other. */
const counting = createConcurrencyLimit({
  runningMax: 3,
  runningPerKeyMax: 1,
  waitingPerKeyMax: 10,
  refuse: tooManyFinishedCounts,
});

/** How many people finished a version before the live one, and are not inside. Throws `AUTOMATION_NOT_FOUND`, `TOO_MANY_COUNTS`. */
export async function finishedPeople(ctx: Context, uid: string): Promise<number> {
  const counted = await countNow(ctx, await findOwnedAutomation(ctx, uid));
  return counted?.people ?? 0;
}

/** Undefined: there is no version yet. */
async function countNow(
  { db }: Context,
  { customerId, id: automationId, listId, liveVersion: version }: Automation,
): Promise<{ readonly people: number; readonly version: number; readonly until: Date } | undefined> {
  if (version === null) return undefined;
  return counting.run(async () => {
    const until = await databaseNow(db);
    const people = await countFinished(db, { customerId, automationId, listId, version, until });
    return { people, version, until };
  }, String(customerId));
}

export interface SendToFinished {
  readonly node: string;
  /** How many the caller has seen that they are: when they are more by now, nobody enters. */
  readonly people: number;
}

/**
 * Returns how many they are. Throws ValidationError, WrongStateError `MORE_HAVE_FINISHED`, `AUTOMATION_NOT_ACTIVE`, `AUTOMATION_NOT_PUBLISHED`,
 * `AUTOMATION_NOT_FOUND`, RateLimitedError `TOO_MANY_COUNTS`.
 */
export async function sendToFinished(ctx: Context, uid: string, given: SendToFinished): Promise<number> {
  const { node, people } = parseInput(sendToFinishedInput, given);
  // Nobody who changes the automation waits for the count. A version that is published after it is one that is published before the job.
  const counted = await countNow(ctx, await findOwnedAutomation(ctx, uid));
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: automationId, liveVersion, status } = await findOwnedAutomation(tx, uid, 'change');
    if (liveVersion === null || !counted) throw notPublished();
    if (status !== 'active') throw notActive();
    const key = { customerId, automationId };
    if (!(await liveFlow(tx, { ...key, version: liveVersion }))?.graph.nodes.has(node)) throw unknownNode(node);
    const { people: found, version, until } = counted;
    if (found > people) throw moreHaveFinished(found);
    if (found > 0) await enqueueSending(tx.db, { ...key, version, node, until, afterId: 0n });
    return found;
  });
}

export interface SendingToFinished extends Omit<FinishedQuestion, 'listId'> {
  readonly node: string;
  /** People up to this one were let in before. */
  readonly afterId: bigint;
}

async function enqueueSending(
  db: Queryable,
  { customerId, automationId, afterId, ...rest }: SendingToFinished,
  delaySeconds?: number,
): Promise<void> {
  const ids = { customerId: String(customerId), automationId: String(automationId), afterId: String(afterId) };
  await enqueue(db, sendToFinishedJob, { ...ids, ...rest }, delaySeconds === undefined ? {} : { delaySeconds });
}

/** The job. It continues in another one when the process stops, and when the flow is stopped meanwhile. Repeating it is harmless. */
export async function sendToFinishedPeople(
  ctx: Context,
  { afterId, now, ...sending }: SendingToFinished & { readonly now?: Date },
  isStopping: () => boolean,
): Promise<void> {
  for (let after: bigint | undefined = afterId; after !== undefined;) {
    const place: bigint = after;
    if (isStopping()) return enqueueSending(ctx.db, { ...sending, afterId: place });
    const next = await inTransaction(ctx, (tx) => sendSome(tx, { ...sending, afterId: place }, now));
    if (next === 'stopped') return enqueueSending(ctx.db, { ...sending, afterId: place }, STOPPED_SECONDS);
    after = next;
  }
}

/** The last person that it looked at; undefined: there are no more. */
async function sendSome(
  ctx: TransactionContext,
  { node, afterId, until, ...key }: SendingToFinished,
  given: Date | undefined,
): Promise<bigint | undefined | 'stopped'> {
  const status = await automationStatus(ctx.db, key, 'hold');
  // Another version may have been published since it was asked: nobody enters one of the past.
  const version = (await liveVersionOf(ctx.db, key))?.liveVersion ?? key.version;
  const live = status && (await liveFlow(ctx, { ...key, version }));
  const target = live && live.graph.nodes.get(node);
  if (!live || !target) {
    ctx.log.warn('automations.finished_not_sent', { ...key, node, afterId });
    return undefined;
  }
  if (status !== 'active') return 'stopped';
  const question = { ...key, listId: live.listId, until };
  const found = await nextFinished(ctx.db, question, { afterId, max: PEOPLE_AT_ONCE });
  if (found.length === 0) return undefined;
  const now = given ?? (await databaseNow(ctx.db));
  await findByKeys(ctx.tx);
  const entered = await enterFinished(ctx.tx, question, { people: found, now });
  const runs = await newRuns(ctx, live, { target, entered, now });
  await insertRuns(ctx.tx, live.key, runs);
  await fireForArrivals(ctx, live, runs);
  if (runs.some(({ to }) => to.state === 'due')) await wakeFlows(ctx.tx);
  return found.length < PEOPLE_AT_ONCE ? undefined : found.at(-1)?.personId;
}

interface Entering {
  readonly target: FlowNode;
  readonly entered: Awaited<ReturnType<typeof enterFinished>>;
  readonly now: Date;
}

/** In the history they come by this. */
const REASON = 'finished';

async function newRuns(
  ctx: TransactionContext,
  live: LiveFlow,
  { target, entered, now }: Entering,
): Promise<readonly NewRun[]> {
  const list = { customerId: live.key.customerId, listId: live.listId };
  const zones = await zonesOfList(ctx.db, list);
  const people = await peopleById(ctx.db, { ...list, ids: entered.map(({ personId }) => personId) });
  const done = await workDone(
    ctx,
    live.key,
    entered.map(({ before: id, personId }) => ({ id, personId })),
  );
  return entered.map(({ personId, entryKey, before, runId, toPassOver }): NewRun => {
    const person = people.get(personId);
    const run: Run = {
      ...{ id: runId, personId, entryKey, enteredAt: now, since: now, eventsFrom: now, eventsAfter: 0n },
      ...{ depth: 0, failures: 0, hasLeft: false, reason: null, steps: 1 },
      passes: live.repeated.has(target.id) ? { [target.id]: 1 } : null,
      done: doneBy(done.get(before) ?? [], toPassOver),
    };
    const due: Place = { node: target.id, state: 'due', wakeAt: now };
    const isAtWork = !person || !zones || isDoneBefore(target, run) || looksFirst(target);
    return { run, to: isAtWork ? due : placeAt(target, { live, zones, person, now }), payload: null, reason: REASON };
  });
}

/** The date may change while the person comes, which would be seen by nobody (D76). */
function looksFirst(target: FlowNode): boolean {
  return target.type === 'wait_until' && target.field !== undefined;
}
