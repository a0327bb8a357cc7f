/** An automation: a flow of a list. Its draft is edited; what people go through is its published version. */
import type { FlowFault } from './flow/flow-fault.ts';

export const AUTOMATION_STATUSES = ['active', 'inactive'] as const;
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number];

export const AUTOMATION_NAME_MAX = 255;
/** Of one customer when the plan has no limit. */
export const AUTOMATIONS_MAX = 1_000;

/** Of one automation. They are kept as long as it is, of up to 256 KiB each, and a year of three publications a day is as many. */
export const VERSIONS_MAX = 1_000;

export interface Automation {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly uid: string;
  readonly listId: bigint;
  readonly listUid: string;
  readonly name: string;
  readonly status: AutomationStatus;
  /** As it was saved: it may have faults. */
  readonly draft: unknown;
  /** Whoever changes the draft names the version that was read. */
  readonly draftVersion: number;
  /** Null: nothing was published yet. */
  readonly liveVersion: number | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface PublishedVersion {
  readonly number: number;
  /** What may be meant so. */
  readonly warnings: readonly FlowFault[];
}
