/** Starts delayed jobs early, when what they wait for has come. */
import type { Queryable } from '../db/database.ts';
import { customerFlag, type JobDefinition } from './define-job.ts';
import { rescheduleJobs } from './queue-store.ts';

export interface WhichJobs {
  /** Undefined: those of all customers. */
  readonly customerId: bigint | undefined;
  /** Later jobs wait for something else. */
  readonly dueWithinSeconds: number;
}

/** Makes jobs of a kind due that would be due within so many seconds; returns how many. */
export async function wakeJobs(
  db: Queryable,
  { name }: JobDefinition,
  { customerId, dueWithinSeconds }: WhichJobs,
): Promise<number> {
  const flag = customerId === undefined ? null : customerFlag(String(customerId));
  return rescheduleJobs(db, { name, flag, dueWithinSeconds });
}
