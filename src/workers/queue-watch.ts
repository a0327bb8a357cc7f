/** What this process knows about the queue: whether look-ups are answered, and whether it may look for jobs. */
import type { EventEmitter } from 'node:events';

/** A look-up takes milliseconds; one that takes this long will not return. */
const ANSWER_MS_MAX = 3_000;

export class QueueWatch {
  readonly #pauses = new Set<string>();
  #open: PromiseWithResolvers<void> | undefined;
  #requestedAt: number | undefined;
  #problem: string | undefined;
  #isStopping = false;

  listenTo(events: EventEmitter): void {
    const answered = (): void => {
      this.#requestedAt = undefined;
      this.#problem = undefined;
    };
    events.on('worker:getJob:start', () => (this.#requestedAt ??= performance.now()));
    events.on('job:start', answered);
    events.on('worker:getJob:empty', answered);
    events.on('worker:getJob:error', ({ error }: { error: unknown }) => {
      this.#requestedAt = undefined;
      this.#problem = error instanceof Error ? error.message : String(error);
    });
  }

  /** Why no jobs run although they should; undefined: they do. */
  problem(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    const waitedMs = this.#requestedAt === undefined ? 0 : performance.now() - this.#requestedAt;
    return waitedMs > ANSWER_MS_MAX ? `no answer for ${Math.round(waitedMs / 1_000)} s` : undefined;
  }

  /** No job runs until every reason for the pause is gone. */
  pause(reason: string): void {
    this.#pauses.add(reason);
    this.#open ??= Promise.withResolvers<void>();
  }

  resume(reason: string): void {
    if (!this.#pauses.delete(reason) || this.#pauses.size > 0) return;
    this.#open?.resolve();
    this.#open = undefined;
  }

  get isPaused(): boolean {
    return this.#pauses.size > 0;
  }

  /** Waits while paused. Throws when the process stops meanwhile, because then no job may start. */
  async waitWhilePaused(): Promise<void> {
    await this.#open?.promise;
    if (this.#isStopping) throw new Error('The process stops.');
  }

  stop(): void {
    if (this.isPaused) this.#isStopping = true;
    this.#open?.resolve();
  }
}
