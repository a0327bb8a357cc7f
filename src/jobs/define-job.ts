/**
 * Jobs: a name, the schema of the payload, and how to enqueue them. The queue is graphile-worker; a job enqueued in a transaction
 * exists exactly when the transaction commits.
 */
import type { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { takePriorities } from './fair-queueing.ts';
import { addJobs } from './queue-store.ts';

export interface JobDefinition<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** Checked when the job starts: an older version of the program may have written the payload. */
  readonly payload: Schema;
  /** How often the queue tries when the task throws (with its own growing delay). */
  readonly attemptsMax: number;
  /** Jobs of this kind of different customers alternate (fair-queueing.ts). */
  readonly isFairlyQueued?: boolean;
  /** Runs for minutes. A process runs few of these at once, so that short jobs are not blocked. */
  readonly isLong?: boolean;
}

export interface EnqueueOptions {
  readonly runAt?: Date;
  /** Instead of `runAt`: a delay by the clock of the database, which also starts the job. */
  readonly delaySeconds?: number;
  /** A waiting job with the same key is replaced, not doubled. */
  readonly key?: string;
  /** Lower runs first; default 0. */
  readonly priority?: number;
  /** Instead of the number of the definition. */
  readonly attemptsMax?: number;
  /** Besides those of the definition and the customer; workers leave alone what has a forbidden one. */
  readonly flags?: readonly string[];
  /** Fairly queued although the first job of this kind is not. */
  readonly isFairlyQueued?: boolean;
}

/** The flag of a customer's jobs, by which a worker runs no more of them than the customer's share. */
export function customerFlag(customerId: string): string {
  return `customer:${customerId}`;
}

/** On jobs that run for minutes. */
export const LONG_FLAG = 'long';

export function defineJob<Schema extends z.ZodType>(definition: JobDefinition<Schema>): JobDefinition<Schema> {
  return definition;
}

/** Enqueues one job through `db`: inside a transaction it waits for the commit. */
export async function enqueue<Schema extends z.ZodType>(
  db: Queryable,
  definition: JobDefinition<Schema>,
  payload: z.input<Schema>,
  options: EnqueueOptions = {},
): Promise<void> {
  await enqueueMany(db, definition, [payload], options);
}

/** Enqueues many jobs of one kind and one customer in one statement. Use a key for a single job only. */
export async function enqueueMany<Schema extends z.ZodType>(
  db: Queryable,
  definition: JobDefinition<Schema>,
  payloads: readonly z.input<Schema>[],
  options: EnqueueOptions = {},
): Promise<void> {
  if (payloads.length === 0) return;
  const customerId = customerOf(payloads[0]);
  const priorities = await prioritiesOf(db, definition, { customerId, amount: payloads.length, options });
  const flags = flagsOf(definition, payloads[0], options.flags);
  const specs = payloads.map((payload, index) => ({
    identifier: definition.name,
    payload,
    max_attempts: options.attemptsMax ?? definition.attemptsMax,
    ...(options.runAt ? { run_at: options.runAt } : {}),
    job_key: options.key ?? null,
    priority: options.priority ?? priorities?.[index] ?? 0,
    ...flags,
  }));
  await addJobs(db, specs, options.delaySeconds);
}

/** A job with its own key and time. */
export interface KeyedJob<Schema extends z.ZodType> {
  readonly payload: z.input<Schema>;
  readonly key: string;
  readonly runAt: Date;
}

/** The same for jobs that wait each until its own time, and replace their waiting likes. */
export async function enqueueKeyed<Schema extends z.ZodType>(
  db: Queryable,
  definition: JobDefinition<Schema>,
  jobs: readonly KeyedJob<Schema>[],
): Promise<void> {
  if (jobs.length === 0) return;
  const flags = flagsOf(definition, jobs[0]?.payload);
  const specs = jobs.map(({ payload, key, runAt }) => ({
    ...{
      identifier: definition.name,
      payload,
      max_attempts: definition.attemptsMax,
      run_at: runAt,
      job_key: key,
      priority: 0,
    },
    ...flags,
  }));
  await addJobs(db, specs, undefined);
}

function flagsOf(
  { isLong = false }: JobDefinition,
  payload: unknown,
  more: readonly string[] = [],
): { flags?: string[] } {
  const customerId = customerOf(payload);
  const flags = [...(customerId ? [customerFlag(customerId)] : []), ...(isLong ? [LONG_FLAG] : []), ...more];
  return flags.length > 0 ? { flags } : {};
}

/** Undefined: of no customer. */
function customerOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !('customerId' in payload)) return undefined;
  return String(payload.customerId);
}

interface PriorityRequest {
  readonly customerId: string | undefined;
  readonly amount: number;
  readonly options: EnqueueOptions;
}

async function prioritiesOf(
  db: Queryable,
  { isFairlyQueued = false }: JobDefinition,
  { customerId, amount, options }: PriorityRequest,
): Promise<number[] | undefined> {
  if (!customerId || options.priority !== undefined || !(isFairlyQueued || options.isFairlyQueued)) return undefined;
  // Delayed work is work that comes back.
  const isAgain = options.delaySeconds !== undefined || options.isFairlyQueued === true;
  return takePriorities(db, BigInt(customerId), { amount, kind: isAgain ? 'again' : 'planned' });
}

/** Thrown by a task that cannot run now through no fault of the job: it waits again, and the try does not count. */
export class PutBack extends Error {}
