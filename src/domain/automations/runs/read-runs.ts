/** Reading the runs of an automation: who is where, and what each of them went through. Without secrets of payloads. */
import { NotFoundError, ValidationError } from '../../../lib/errors.ts';
import { isUid, runIdOf, runUid } from '../../../lib/ids.ts';
import { isSecretName, MASKED, maskSecrets } from '../../../lib/mask-secrets.ts';
import { parseInput } from '../../../lib/text.ts';
import { findSubscriber } from '../../audience/find-subscriber.ts';
import type { Context } from '../../context.ts';
import type { Automation } from '../automation.ts';
import { countEntries, sumOfCounts } from './count-read-model.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { questionsOf } from '../flow/flow-condition.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import { liveFlow } from './live-flow.ts';
import {
  payloadOfRun,
  runPositions,
  seenRuns,
  stepsOf,
  type RunKey,
  type RunPage,
  type SeenRun,
} from './run-read-model.ts';
import { placeFilterInput, type RunFilter, type RunPosition, type RunState, type SeenStep } from './seen-run.ts';

/** What a caller asks for. */
export interface RunQuestion {
  readonly state?: RunState | null | undefined;
  readonly node?: string | null | undefined;
  readonly version?: number | null | undefined;
  /** Uid, id or address. */
  readonly subscriber?: string | null | undefined;
}

export type FoundRun = SeenRun & RunPosition & Pick<Automation, 'uid'>;

/** Throws ValidationError on `state`, `node` and `version`, `SUBSCRIBER_NOT_FOUND`. */
export async function runFilterOf(ctx: Context, { listUid }: Automation, question: RunQuestion): Promise<RunFilter> {
  const { state = null, subscriber } = question;
  const { node = null, version = null } = parseInput(placeFilterInput, {
    node: question.node,
    version: question.version,
  });
  const one = subscriber ? await findSubscriber(ctx, { subscriber, listUid }) : undefined;
  if (state === null && node !== null)
    throw new ValidationError({ state: ['With a node, name the state: waiting, parked, passed or left.'] });
  if (state === 'passed' && node === null)
    throw new ValidationError({ node: ['With the state passed, name the node that was passed.'] });
  return { state, node, version, personId: one?.id ?? null };
}

/** A page of the runs: who waits, by the end of their wait; others the newest first. */
export async function runsPage(
  { db }: Context,
  { customerId, id: automationId, listId, uid }: Automation,
  page: RunPage,
): Promise<FoundRun[]> {
  const key = { customerId, automationId };
  const positions = await runPositions(db, key, page);
  const wakes = new Map(positions.map(({ id, wakeMicros }) => [id, wakeMicros]));
  const runs = await seenRuns(db, { ...key, listId }, [...wakes.keys()]);
  return runs.map((run) => ({ ...run, uid, wakeMicros: wakes.get(run.id) ?? null }));
}

/** How many they are: of all runs, and of those of a person, counted up to `max`. At nodes each passage counts. */
export async function countRuns(
  { db }: Context,
  { customerId, id: automationId }: Automation,
  { filter, max }: { readonly filter: RunFilter; readonly max: number },
): Promise<number> {
  const key = { customerId, automationId };
  const { state, personId } = filter;
  if (personId !== null) return (await runPositions(db, key, { filter, after: undefined, limit: max })).length;
  if (state === null) return countEntries(db, key, max);
  const sums = await sumOfCounts(db, key, filter);
  return Number(sums?.[state] ?? 0n);
}

/** One run of the caller's automation. Throws `AUTOMATION_NOT_FOUND`, `RUN_NOT_FOUND`. */
export async function findOwnedRun(ctx: Context, uid: string, run: string): Promise<FoundRun> {
  const { customerId, id: automationId, listId } = await findOwnedAutomation(ctx, uid);
  const [found] = isUid(run) ? await seenRuns(ctx.db, { customerId, automationId, listId }, [runIdOf(run)]) : [];
  if (!found) throw new NotFoundError('RUN_NOT_FOUND', 'The automation has no such run, or it is too long ago.');
  return { ...found, uid, wakeMicros: null };
}

/** Its steps after this one, without secrets. */
export async function stepsOfRun(
  ctx: Context,
  key: RunKey,
  window: { readonly after: number; readonly limit: number },
): Promise<SeenStep[]> {
  const steps = await stepsOf(ctx.db, key, window);
  const versions = new Map(
    await Promise.all(
      [...new Set(steps.map(({ version }) => version))].map(
        async (version) => [version, await liveFlow(ctx, { ...key, version })] as const,
      ),
    ),
  );
  return steps.map(({ details, ...step }) => {
    const node = versions.get(step.version)?.graph.nodes.get(step.node);
    const messageId = details?.['messageId'];
    return {
      ...step,
      nodeType: node?.type ?? null,
      details: details && shownDetails(details, node),
      messageId: typeof messageId === 'string' ? BigInt(messageId) : null,
    };
  });
}

/** The payload of a run that has not ended, without secrets; null: none. */
export async function shownPayload({ db }: Context, key: RunKey): Promise<Readonly<Record<string, unknown>> | null> {
  const payload = await payloadOfRun(db, key);
  return payload ? maskSecrets(payload) : null;
}

/** A condition keeps the values that it read, without their names: the node has them. The message is shown apart, and ids of rows never. */
function shownDetails(stored: Readonly<Record<string, unknown>>, node?: FlowNode) {
  const { messageId: _messageId, event: _event, run, ...others } = stored;
  const details =
    typeof run === 'string' && node?.type === 'start_flow' ? { ...others, runUid: runUid(BigInt(run)) } : others;
  const { answers } = details;
  if (!Array.isArray(answers)) return maskSecrets(details);
  const questions = node?.type === 'condition' ? questionsOf(node.if) : [];
  return maskSecrets({
    ...details,
    answers: answers.map((answer: unknown, no) => {
      const question = questions[no];
      const isSecret = question === undefined || ('payload' in question && isSecretName(question.payload.path));
      return isSecret && isObject(answer) && 'value' in answer ? { ...answer, value: MASKED } : answer;
    }),
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
