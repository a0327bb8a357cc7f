/**
 * A task: what a worker does with one kind of job. The files under tasks/ bind a job to a verb of the domain and decide nothing
 * (test/architecture/tasks.test.ts).
 */
import type { z } from 'zod';
import type { Context } from '../domain/context.ts';
import type { JobDefinition } from '../jobs/define-job.ts';

export interface TaskHelpers {
  /**
   * Fires when the process must stop, or when others wait for this job's place: finish what is in flight, put the rest back,
   * return soon.
   */
  readonly abortSignal: AbortSignal;
  /** This worker process's name in leases. */
  readonly workerId: string;
  /** The job's number in the queue: the same for each try, and no other job ever has it. */
  readonly jobId: string;
  /** 1 on the first try. */
  readonly attempt: number;
  /** The number of the last try. */
  readonly attemptsMax: number;
}

export interface Task {
  readonly name: string;
  /** Checks the payload and does the work. Throwing makes the queue try again later. */
  run(ctx: Context, payload: unknown, helpers: TaskHelpers): Promise<void>;
}

/** Binds a job definition to the work. */
export function defineTask<Schema extends z.ZodType>(
  definition: JobDefinition<Schema>,
  work: (ctx: Context, payload: z.output<Schema>, helpers: TaskHelpers) => Promise<unknown>,
): Task {
  return {
    name: definition.name,
    run: async (ctx, payload, helpers) => {
      await work(ctx, definition.payload.parse(payload), helpers);
    },
  };
}
