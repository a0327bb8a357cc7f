/** What the process and the thread that takes messages apart say to each other. */
import type { MessagePlan, PlanFault, PlanSource } from './message-plan.ts';

export interface PlanRequest {
  readonly id: number;
  readonly source: PlanSource;
}

export type PlanAnswer = { readonly id: number } & (
  | { readonly plan: MessagePlan }
  /** The message cannot be composed. */
  | { readonly fault: PlanFault }
  /** Of ours: it is logged, and the author hears no more than a number. */
  | { readonly defect: string }
);
