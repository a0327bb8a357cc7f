/** How REST shows runs of automations and counts of nodes, and the shapes of its answers. */
import { z } from 'zod';
import type {
  RestAutomationCountsFragment,
  RestAutomationRunFragment,
  RestAutomationStepFragment,
  RestVersionCountsFragment,
} from '../../generated/operations.ts';
import { restFieldName } from '../errors.ts';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

export function presentRun(run: RestAutomationRunFragment) {
  const { uid, email, version, state, node, reason, failures } = run;
  return {
    ...{ uid, automation_uid: run.automationUid, subscriber_uid: run.subscriberUid, email },
    ...{ version, state, node },
    entered_at: restTime(run.enteredAt),
    since: restTime(run.since),
    wake_at: restTime(run.wakeAt),
    ended_at: restTime(run.endedAt),
    ...{ reason, failures },
  };
}

export function presentStep(step: RestAutomationStepFragment) {
  const { no, version, node, nodeType, what, port, reason, details, mail } = step;
  return {
    ...{ no, time: restTime(step.at), version, node, node_type: nodeType, what, port, reason },
    details: details && namedForRest(details),
    mail: mail && {
      ...{ message_uid: mail.uid, state: mail.state, reason: mail.reason, attempts: mail.attempts },
      updated_at: restTime(mail.updatedAt),
    },
  };
}

/** Only these names are ours: what a condition read has those of its author. */
function namedForRest(details: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [restFieldName(name), value]));
}

export function presentCounts({ versions, postponedAt, postponedReason }: RestAutomationCountsFragment) {
  return {
    versions: versions.map(presentVersionCounts),
    ...{ postponed_at: restTime(postponedAt), postponed_reason: postponedReason },
  };
}

function presentVersionCounts({ version, isLive, nodes, ...sums }: RestVersionCountsFragment) {
  return {
    ...{ version, is_live: isLive },
    ...{ waiting: Number(sums.waiting), parked: Number(sums.parked), left: Number(sums.left) },
    nodes: nodes.map(({ node, entered, waiting, passed, left, parked, ...late }) => ({
      ...{ node, entered: Number(entered), waiting: Number(waiting) },
      ...{ passed: Number(passed), left: Number(left), parked: Number(parked) },
      ...{
        paused_at: restTime(late.pausedAt),
        late_total: numberOf(late.lateTotal),
        late_done: numberOf(late.lateDone),
        postponed_at: restTime(late.postponedAt),
        postponed_reason: late.postponedReason,
      },
    })),
  };
}

function numberOf(count: string | null): number | null {
  return count === null ? null : Number(count);
}

const runParts = {
  uid: uidShape,
  automation_uid: uidShape,
  subscriber_uid: uidShape.nullable().meta({ description: 'Null: the person was deleted.' }),
  email: z.string().nullable(),
  version: countShape,
  state: z.enum(['waiting', 'parked', 'passed', 'left']),
  node: z.string().meta({ description: 'Where it is, or was at its end.' }),
  entered_at: timeShape,
  since: timeShape,
  wake_at: timeShape.nullable(),
  ended_at: timeShape.nullable(),
  reason: z.string().nullable().meta({
    description: 'Why it is parked or has ended: a code. Of one that waits for a plugin `condition_unavailable`.',
  }),
  failures: countShape,
};
export const runRowShape = z.strictObject(runParts).meta({ id: 'AutomationRunRow' });

const anyObject = z.record(z.string(), z.unknown());

const stepShape = z
  .strictObject({
    no: countShape,
    time: timeShape,
    version: countShape,
    node: z.string(),
    node_type: z.string().nullable(),
    what: z.enum(['entered', 'moved', 'passed', 'left', 'parked', 'stays']),
    port: z.string().nullable(),
    reason: z.string().nullable(),
    details: anyObject.nullable(),
    mail: z
      .strictObject({
        message_uid: uidShape,
        state: z.string(),
        reason: z.string().nullable(),
        attempts: countShape,
        updated_at: timeShape,
      })
      .nullable(),
  })
  .meta({ id: 'AutomationStep' });

/** One run with a page of its steps. */
export const oneRunShape = z.strictObject({
  run: z.strictObject({ ...runParts, payload: anyObject.nullable() }).meta({ id: 'AutomationRun' }),
  steps: z.array(stepShape),
  next: z.string().nullable(),
});

const nodeCountShape = z
  .strictObject({
    node: z.string(),
    entered: countShape,
    waiting: countShape,
    passed: countShape,
    left: countShape,
    parked: countShape,
    paused_at: timeShape.nullable(),
    late_total: countShape.nullable(),
    late_done: countShape.nullable(),
    postponed_at: timeShape.nullable(),
    postponed_reason: z.string().nullable(),
  })
  .meta({ id: 'AutomationNodeCount' });

export const countsShape = z.strictObject({
  versions: z.array(
    z
      .strictObject({
        version: countShape,
        is_live: z.boolean(),
        waiting: countShape,
        parked: countShape,
        left: countShape,
        nodes: z.array(nodeCountShape),
      })
      .meta({ id: 'AutomationVersionCounts' }),
  ),
  postponed_at: timeShape.nullable(),
  postponed_reason: z.string().nullable(),
});

export const runsChangedShape = actionShape({ automation_uid: uidShape, runs: countShape });
