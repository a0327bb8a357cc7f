/**
 * Jobs that the queue assigned to this process and that never arrived: the connection broke between the assignment and the
 * answer. The process lives, so nobody else would free them.
 */
import type { EventEmitter } from 'node:events';
import type { Context } from '../domain/context.ts';
import { unlockJobs } from '../jobs/queue-internals-store.ts';
import { jobsOfPools } from '../jobs/queue-store.ts';

/** A job that looks like an orphan may be under way or about to be reported done; if it is seen twice in a row, it is one. */
export class Orphans {
  readonly #pools = new Set<string>();
  #suspects: ReadonlySet<string> = new Set();

  /** Listens to the events of the pools of this process. */
  listenTo(events: EventEmitter): void {
    events.on('pool:create', ({ workerPool }: { workerPool: { id: string } }) => void this.#pools.add(workerPool.id));
  }

  /** Frees orphans that were also seen the last time; returns how many. */
  async free(database: Context['database'], isRunning: (jobId: string) => boolean): Promise<number> {
    const held = await jobsOfPools(database, [...this.#pools]);
    const idle = held.filter((id) => !isRunning(id));
    const orphans = idle.filter((id) => this.#suspects.has(id));
    this.#suspects = new Set(idle.filter((id) => !orphans.includes(id)));
    if (orphans.length === 0) return 0;
    await unlockJobs(database, { ids: orphans, pools: [...this.#pools] });
    return orphans.length;
  }
}
