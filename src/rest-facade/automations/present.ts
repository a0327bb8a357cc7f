/** How REST shows automations, and the shapes of its answers. */
import { z } from 'zod';
import type { RestAutomationFragment, RestAutomationRowFragment } from '../../generated/operations.ts';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

export const AUTOMATION_CREATED = 'Automation was successfully created';
/** Levels of objects and lists: conditions of five groups, and in them rules of segments of 24 levels. */
export const FLOW_DEPTH_MAX = 36;

/** A row of the index (decision D28), without the flow. */
export function presentAutomationRow(automation: RestAutomationRowFragment) {
  return {
    uid: automation.uid,
    name: automation.name,
    status: automation.status,
    trigger: automation.triggers[0] ?? null,
    triggers: automation.triggers,
    list_uid: automation.listUid,
    draft_version: automation.draftVersion,
    live_version: automation.liveVersion,
    created_at: restTime(automation.createdAt),
    updated_at: restTime(automation.updatedAt),
  };
}

export function presentAutomation(automation: RestAutomationFragment) {
  return { ...presentAutomationRow(automation), flow: automation.flow };
}

/** What an act answers. */
export function presentActed(automation: RestAutomationFragment) {
  return { automation_uid: automation.uid, automation: presentAutomation(automation) };
}

const rowParts = {
  uid: uidShape,
  name: z.string(),
  status: z.enum(['active', 'inactive']),
  trigger: z.string().nullable().meta({ description: 'The type of the first trigger.' }),
  triggers: z.array(z.string()),
  list_uid: uidShape,
  draft_version: z.int(),
  live_version: z.int().nullable().meta({ description: 'The version that people enter; null: none was published.' }),
  created_at: timeShape,
  updated_at: timeShape,
};

export const automationRowShape = z.strictObject(rowParts).meta({ id: 'AutomationRow' });

/** A flow is data of its own (docs/manual/automations.md). */
export const flowObject = z.record(z.string(), z.unknown());
const automationShape = z.strictObject({ ...rowParts, flow: flowObject }).meta({ id: 'Automation' });
export const oneAutomationShape = z.strictObject({ automation: automationShape });
export const automationActionShape = actionShape({ automation_uid: uidShape, automation: automationShape });
export const automationDeletedShape = actionShape({ automation_uid: uidShape });

const faultShape = z
  .strictObject({
    node: z.string().nullable(),
    field: z.string().nullable(),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'FlowFault' });
export const faultsShape = z.array(faultShape);

export const automationCheckShape = z.strictObject({
  draft_version: z.int(),
  faults: faultsShape,
  warnings: faultsShape,
});
export const automationPublishedShape = actionShape({
  automation_uid: uidShape,
  version: countShape,
  warnings: faultsShape,
});
export const automationEnteredShape = actionShape({ automation_uid: uidShape, run_uid: uidShape });

export const automationCalledShape = actionShape({
  automation_uid: uidShape,
  run_uid: uidShape.nullable(),
  node: z.string(),
  people: countShape,
});

export const automationVersionShape = z
  .strictObject({
    number: countShape,
    published_at: timeShape,
    published_by: uidShape.nullable(),
    moves: flowObject
      .nullable()
      .meta({ description: 'Where people of earlier versions go; null: they finish on theirs.' }),
    moved_at: timeShape
      .nullable()
      .meta({ description: 'When all of them had been moved; null: they are being moved, or nobody is.' }),
    flow: flowObject.nullable(),
  })
  .meta({ id: 'AutomationVersion' });
