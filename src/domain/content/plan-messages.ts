/** The messages between the process and the thread that takes messages apart. */
import type { MessagePlan, PlanFault, PlanSource } from './message-plan.ts';

export interface PlanRequest {
  readonly id: number;
  readonly source: PlanSource;
}

export type PlanAnswer = { readonly id: number } & (
  | { readonly plan: MessagePlan }
  /** The message cannot be composed. */
  | { readonly fault: PlanFault }
  /** A defect of ours: it is logged, and the author sees only a reference number. */
  | { readonly defect: string }
);
