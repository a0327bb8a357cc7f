/**
 * `POST /automations/:uid/api/call` (D27): starts an API-call node for one person who waits there, at once, or for everybody who waits there,
 * in a job.
 */
import { ValidationError } from '../../../lib/errors.ts';
import { callEverybodyJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { findSubscriber } from '../../audience/find-subscriber.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { noPerson, notActive, notWaiting } from '../automation-errors.ts';
import type { Automation } from '../automation.ts';
import { callRuns } from './call-runs.ts';
import { versionsWaiting } from './called-run-store.ts';
import { checkedPayload } from '../flow/checked-payload.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import { liveFlow } from '../runs/live-flow.ts';
import { lockRunsOfPerson } from '../runs/parked-run-store.ts';
import { findByKeys } from '../runs/run-store.ts';

/** Runs of one person at one node: one for each key of a flow with keys. */
const RUNS_OF_PERSON_MAX = 1_000;
/** Each run gets a copy: of a million people, 4 GB at most. */
const PAYLOAD_FOR_ALL = {
  bytesMax: 4 * 1024,
  why: 'The payload of a call for everybody may not be larger than 4 KiB, because everybody who waits gets a copy. Call people one by one to give more.',
};

export interface ApiCallInput {
  /** Uid, id or address; undefined: everybody who waits there. Null and blank name nobody. */
  readonly subscriber?: string | null | undefined;
  /** Needed when the flow has several API-call nodes. */
  readonly node?: string | undefined;
  readonly payload?: unknown;
}

export interface ApiCallAnswer {
  readonly node: string;
  /** The person's runs that go on; of a call for everybody, none: a job moves them. */
  readonly runIds: readonly bigint[];
  /** Runs that go on, or that wait for the job now. */
  readonly people: number;
}

/**
 * The payload is read as `payload.*` afterwards: its values are added to those that the run has. Throws ValidationError on `subscriber`, `node`
 * and `payload`, WrongStateError `AUTOMATION_NOT_ACTIVE` and `NOT_WAITING` when the person does not wait there, `AUTOMATION_NOT_FOUND`,
 * `SUBSCRIBER_NOT_FOUND`.
 */
export async function executeApiCall(ctx: Context, uid: string, given: ApiCallInput): Promise<ApiCallAnswer> {
  const { subscriber } = given;
  // An empty variable of a program must not call everybody: that cannot be taken back.
  if (subscriber !== undefined && !subscriber?.trim()) throw noPerson();
  const isForAll = subscriber === undefined;
  const payload = checkedPayload(given.payload, isForAll ? PAYLOAD_FOR_ALL : undefined);
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid);
    if (automation.status !== 'active') throw notActive();
    const node = await calledNode(tx, automation, given.node);
    const calledAt = await databaseNow(tx.db);
    if (isForAll) return callAll(tx, automation, { node, payload, calledAt });
    const { id: personId } = await findSubscriber(tx, { subscriber, listUid: automation.listUid });
    const runIds = await callPerson(tx, automation, { node, payload, calledAt, personId });
    return { node, runIds, people: runIds.length };
  });
}

/** The node that is named, or the only one of its kind. */
async function calledNode(
  tx: TransactionContext,
  { customerId, id: automationId, liveVersion }: Automation,
  named: string | undefined,
): Promise<string> {
  const live =
    liveVersion === null ? undefined : await liveFlow(tx, { customerId, automationId, version: liveVersion });
  if (!live) throw notActive();
  const nodes = live.flow.nodes.filter(({ type }) => type === 'api_call').map(({ id }) => id);
  if (named !== undefined) {
    if (nodes.includes(named)) return named;
    // People of an older version may wait at a node that the present one does not have.
    for (const { version } of await versionsWaiting(tx.db, { customerId, automationId, node: named })) {
      const older = await liveFlow(tx, { customerId, automationId, version });
      if (older?.graph.nodes.get(named)?.type === 'api_call') return named;
    }
    throw new ValidationError({ node: ['The flow has no API-call node with this id.'] });
  }
  const [only, ...more] = nodes;
  if (only === undefined) throw new ValidationError({ node: ['The flow has no API-call node.'] });
  if (more.length > 0) throw new ValidationError({ node: [`Name one of the API-call nodes: ${nodes.join(', ')}.`] });
  return only;
}

interface NodeCall {
  readonly node: string;
  readonly payload: FlowPayload | null;
  readonly calledAt: Date;
}

async function callPerson(
  tx: TransactionContext,
  { customerId, id: automationId }: Automation,
  { node, ...call }: NodeCall & { readonly personId: bigint },
): Promise<readonly bigint[]> {
  await findByKeys(tx.tx);
  // By their ids, as all lock who lock several: by versions, this and a move to another one would wait for each other.
  const runs = await lockRunsOfPerson(tx.tx, { customerId, automationId, personId: call.personId });
  const versions = new Set(runs.flatMap((run) => (run.node === node ? [run.version] : [])));
  const runIds: bigint[] = [];
  for (const version of [...versions].toSorted((a, b) => a - b)) {
    const key = { customerId, automationId, version, node };
    const called = await callRuns(tx, key, { ...call, afterId: 0n, max: RUNS_OF_PERSON_MAX });
    if (called.tooLarge.length > 0)
      throw new ValidationError({ payload: ['The payload is too large together with what the run has already.'] });
    runIds.push(...called.runIds);
  }
  if (runIds.length === 0) throw notWaiting(node);
  return runIds;
}

async function callAll(
  tx: TransactionContext,
  { customerId, id: automationId }: Automation,
  { node, payload, calledAt }: NodeCall,
): Promise<ApiCallAnswer> {
  const versions = await versionsWaiting(tx.db, { customerId, automationId, node });
  const people = versions.reduce((sum, { waiting }) => sum + waiting, 0);
  const job = { customerId: String(customerId), automationId: String(automationId), node, payload, calledAt };
  if (people > 0) await enqueue(tx.db, callEverybodyJob, job);
  return { node, runIds: [], people };
}
