/** A dry run of a draft for one person or the people of a segment: the path of each, and the counts of each node. */
import { createConcurrencyLimit } from '../../../lib/concurrency-limit.ts';
import { ValidationError } from '../../../lib/errors.ts';
import { peopleById } from '../../audience/people-store.ts';
import { findSubscriber } from '../../audience/find-subscriber.ts';
import { findOwnedSegment } from '../../audience/segments/find-owned-segment.ts';
import { peopleByKey } from '../../audience/segments/segment-read-model.ts';
import { inTransaction, type Context } from '../../context.ts';
import { FlowFaultsError, tooManyDryRuns } from '../automation-errors.ts';
import type { Automation } from '../automation.ts';
import { checkAutomation } from '../flow/check-automation.ts';
import { entriesAtOnce, entriesByTriggers } from './dry-run-entries.ts';
import { dryRun, type DryPath, type DryPaths } from './dry-run.ts';
import type { DryStep } from './dry-run-walk.ts';
import { dryDeadline, DRY_STEPS_MAX } from './dry-world.ts';
import { refuseWrites } from './dry-run-read-model.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { questionsOf } from '../flow/flow-condition.ts';
import type { Flow } from '../flow/flow.ts';
import { liveFlowOf } from '../runs/live-flow.ts';
import { answersToRules } from '../work/rule-answers.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import { rulesOfWaysOut } from '../engine/ways-out.ts';

/** Of a segment the first ones. */
export const DRY_PEOPLE_MAX = 100;
/** As far as it may begin in the past, and as far as the virtual clock goes from there. */
export const DRY_DAYS_MAX = 366;
const DAYS_DEFAULT = 30;
const DAY_MS = 86_400_000;

/** Each may take a connection and the processor for ten seconds: those of one customer run one after the other. */
const running = createConcurrencyLimit({
  runningMax: 3,
  runningPerKeyMax: 1,
  waitingPerKeyMax: 5,
  refuse: tooManyDryRuns,
});

export interface DryRunInput {
  /** Uid, id or address: exactly one of this and `segmentUid`. */
  readonly subscriber?: string | null | undefined;
  readonly segmentUid?: string | null | undefined;
  /** From when what has happened lets them in; by default 30 days ago. */
  readonly from?: Date | null | undefined;
  /** All are let in at `from`, as `execute` does. */
  readonly withoutTriggers?: boolean | null | undefined;
}

type Count = Record<DryStep['what'], number>;

export interface DryRun extends DryPaths {
  readonly draftVersion: number;
  readonly from: Date;
  /** How many were looked at. */
  readonly people: number;
  /** By node, of those that somebody came to: how their stays ended. */
  readonly counts: ReadonlyMap<string, Count>;
}

/**
 * Changes nothing. Throws ValidationError, FlowFaultsError `FLOW_HAS_FAULTS`, `AUTOMATION_NOT_FOUND`, `SUBSCRIBER_NOT_FOUND`,
 * `SEGMENT_NOT_FOUND`, RateLimitedError `TOO_MANY_DRY_RUNS`, and what reading a segment throws.
 */
export async function dryRunAutomation(ctx: Context, uid: string, input: DryRunInput): Promise<DryRun> {
  const automation = await findOwnedAutomation(ctx, uid);
  const from = checkedTime(ctx, input.from);
  const ids = await peopleOf(ctx, automation, input);
  const { flow, faults, draftVersion } = await checkAutomation(ctx, uid);
  if (!flow) throw new FlowFaultsError(faults);
  const { customerId, id: automationId, listId } = automation;
  const live = liveFlowOf({ customerId, automationId, version: 0 }, { uid, listId, flow });
  const answers = await answersToRules(ctx, live, [...rulesIn(flow), ...rulesOfWaysOut(live)]);
  const run = () =>
    inTransaction(ctx, async (tx) => {
      await refuseWrites(tx.db);
      const zones = await zonesOfList(tx.db, { customerId, listId });
      if (!zones) return NOBODY;
      const people = await peopleById(tx.db, { customerId, listId, ids });
      const world = { ...{ live, zones, answers, from }, ...ends(ctx, from) };
      const entries =
        input.withoutTriggers === true ? entriesAtOnce(world, people) : await entriesByTriggers(tx, world, people);
      return { ...(await dryRun(tx, world, { ...entries, people })), people: people.size };
    });
  const done = await running.run(run, String(customerId));
  return { draftVersion, from, ...done, counts: countsOf(done.paths) };
}

const NOBODY: DryPaths & Pick<DryRun, 'people'> = { people: 0, paths: [], leftOut: [], isCut: false };

function ends({ clock }: Context, from: Date) {
  return {
    until: clock.now(),
    to: new Date(from.getTime() + DRY_DAYS_MAX * DAY_MS),
    deadline: dryDeadline(),
    steps: { left: DRY_STEPS_MAX },
  };
}

function checkedTime({ clock }: Context, from: Date | null | undefined): Date {
  const now = clock.now().getTime();
  const at = from ?? new Date(now - DAYS_DEFAULT * DAY_MS);
  if (at.getTime() > now) throw new ValidationError({ from: ['The value of “from” must not be in the future.'] });
  if (at.getTime() >= now - DRY_DAYS_MAX * DAY_MS) return at;
  throw new ValidationError({ from: [`The value of “from” must be within the last ${DRY_DAYS_MAX} days.`] });
}

async function peopleOf(ctx: Context, automation: Automation, input: DryRunInput): Promise<readonly bigint[]> {
  const { listUid, listId, customerId } = automation;
  const [subscriber, segmentUid] = [input.subscriber?.trim() ?? '', input.segmentUid?.trim() ?? ''];
  if ((subscriber === '') === (segmentUid === ''))
    throw new ValidationError({ subscriber: ['Name either a subscriber or a segment.'] });
  if (subscriber !== '') return [(await findSubscriber(ctx, { subscriber, listUid })).id];
  const segment = await findOwnedSegment(ctx, segmentUid);
  if (segment.listId !== listId)
    throw new ValidationError({ segmentUid: ['The segment must be one of the list of the automation.'] });
  const people = await peopleByKey(ctx, { customerId, listId, rule: segment.rule }, { limit: DRY_PEOPLE_MAX });
  return people.map(({ id }) => id);
}

/** All rules of a flow about people, but those of goals and exits. */
export function rulesIn({ nodes, triggers }: Flow) {
  const ofNodes = nodes.flatMap((node) =>
    node.type === 'condition' ? questionsOf(node.if).flatMap((one) => ('person' in one ? [one.person] : [])) : [],
  );
  return [...ofNodes, ...triggers.flatMap((trigger) => ('if' in trigger && trigger.if ? [trigger.if] : []))];
}

function countsOf(paths: readonly DryPath[]): ReadonlyMap<string, Count> {
  const counts = new Map<string, Count>();
  for (const { node, what } of paths.flatMap(({ steps }) => steps)) {
    const count = counts.get(node) ?? { passed: 0, left: 0, parked: 0, waits: 0, stopped: 0 };
    counts.set(node, { ...count, [what]: count[what] + 1 });
  }
  return counts;
}
