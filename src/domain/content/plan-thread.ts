/**
 * Takes messages apart in a separate thread, one after the other, customers alternating. One main thread serves everybody, so
 * nothing that grows with the length of an author's text may run there. The thread is ended when one message takes too much CPU
 * time or memory, and after an idle time.
 */
import { createHash } from 'node:crypto';
import { RateLimitedError, ValidationError } from '../../lib/errors.ts';
import { FailedTemplates } from './failed-templates.ts';
import type { MessagePlan, PlanSource } from './message-plan.ts';
import type { MessageSource } from './message.ts';
import type { PlanAnswer } from './plan-messages.ts';
import { templateFault } from './template-fault.ts';
import { WatchedThread } from '../../lib/watched-thread.ts';

/** CPU time for one message. 4 MB of html, forty times what Gmail shows, take 0.3 to 2 s, and slow machines need longer. */
const CPU_MS_MAX = 6_000;
const SILENCE_MS_MAX = 120_000;
/** The heap of the thread: 1 MB of tags only needs 150 MB, 4 MB of text with tags around each sentence as much. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** An idle thread costs 20 MB, a new one 0.1 s. */
const IDLE_MS_MAX = 60_000;
/** After a long message its heap has some hundred MB, which only its end frees. */
const LONG_MESSAGE = 200_000;
const IDLE_AFTER_LONG_MS_MAX = 1_000;
/** Waiting characters per customer, to limit memory: 12 of the longest messages, thousands of usual ones. */
const WAITING_LENGTH_MAX = 50_000_000;
const COME_AGAIN_SECONDS = 5;

interface Task {
  readonly id: number;
  readonly source: PlanSource;
  readonly resolve: (plan: MessagePlan) => void;
  readonly reject: (error: Error) => void;
}

/** Makes the plans of all customers' messages, in one thread. */
export class MessagePlanner {
  readonly #cpuMsMax: number;
  /** By customer, the longest waiting first. */
  readonly #waiting = new Map<string, Task[]>();
  readonly #failedTemplates = new FailedTemplates();
  #lastId = 0;
  #atWork: Task | undefined;
  #thread: WatchedThread<PlanAnswer> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #idleMsMax = IDLE_MS_MAX;

  constructor({ cpuMsMax }: { cpuMsMax: number }) {
    this.#cpuMsMax = cpuMsMax;
  }

  /**
   * The plan of a message. Throws ValidationError (`TEMPLATE_RUNAWAY`, when the thread had to be stopped), RateLimitedError
   * `TOO_MANY_MESSAGES`.
   */
  async plan({ files, ...texts }: MessageSource): Promise<MessagePlan> {
    const images = (files?.images ?? []).map(({ id, url, reference }) => ({ id, url, reference }));
    const source: PlanSource = { ...texts, images };
    const fault = this.#failedTemplates.faultOf(() => digestOf(source));
    if (fault !== undefined) throw stoppedError(source, fault);
    const ofCustomer = this.#waiting.get(source.customerUid) ?? [];
    const waitingLength = ofCustomer.reduce((sum, task) => sum + lengthOf(task.source), 0);
    if (waitingLength > WAITING_LENGTH_MAX) throw tooManyMessages();
    const { promise, resolve, reject } = Promise.withResolvers<MessagePlan>();
    this.#lastId = (this.#lastId % 0x7fff_fffe) + 1;
    ofCustomer.push({ id: this.#lastId, source, resolve, reject });
    this.#waiting.set(source.customerUid, ofCustomer);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    if (this.#atWork) return;
    clearTimeout(this.#idle);
    const [next] = this.#waiting;
    if (!next) return this.#waitForWork();
    const [customer, [task, ...rest]] = next;
    // Moves this customer to the end if it has more messages.
    this.#waiting.delete(customer);
    if (rest.length > 0) this.#waiting.set(customer, rest);
    if (!task) return;
    this.#atWork = task;
    if (lengthOf(task.source) > LONG_MESSAGE) this.#idleMsMax = IDLE_AFTER_LONG_MS_MAX;
    this.#thread ??= this.#startThread();
    this.#thread.post({ id: task.id, source: task.source });
  }

  #waitForWork(): void {
    this.#idle = setTimeout(() => {
      this.#thread?.end();
      this.#thread = undefined;
      this.#idleMsMax = IDLE_MS_MAX;
    }, this.#idleMsMax).unref();
  }

  #startThread(): WatchedThread<PlanAnswer> {
    return new WatchedThread<PlanAnswer>({
      program: new URL('./plan-worker.ts', import.meta.url),
      resourceLimits: RESOURCE_LIMITS,
      cpuMsMax: this.#cpuMsMax,
      silenceMsMax: SILENCE_MS_MAX,
      hasWork: () => this.#atWork !== undefined,
      onAnswer: (answer) => this.#settle(answer),
      onLost: (why) => this.#stopped(why),
    });
  }

  #settle(answer: PlanAnswer): void {
    const task = this.#atWork;
    if (task?.id !== answer.id) return;
    this.#atWork = undefined;
    if ('plan' in answer) task.resolve(answer.plan);
    else if ('fault' in answer)
      task.reject(new ValidationError(answer.fault.fields, answer.fault.code, answer.fault.message));
    else task.reject(new Error(answer.defect));
    this.#startNext();
  }

  /** The thread has ended with one message in it, which is at fault. */
  #stopped(why: string): void {
    this.#thread = undefined;
    const task = this.#atWork;
    this.#atWork = undefined;
    if (task) {
      const fault = `It cannot be prepared for sending: ${why}. Use fewer nested elements, or a shorter text.`;
      this.#failedTemplates.add(digestOf(task.source), fault);
      task.reject(stoppedError(task.source, fault));
    }
    this.#startNext();
  }
}

const planner = new MessagePlanner({ cpuMsMax: CPU_MS_MAX });

/** The plan of a message, made in the thread of this process. Throws what MessagePlanner.plan throws. */
export function planInThread(source: MessageSource): Promise<MessagePlan> {
  return planner.plan(source);
}

function lengthOf({ html, plain }: PlanSource): number {
  return (html?.length ?? 0) + (plain?.length ?? 0);
}

function stoppedError({ html }: PlanSource, text: string): ValidationError {
  return templateFault(html?.trim() ? 'html' : 'plain', text, { isRunaway: true });
}

function tooManyMessages(): RateLimitedError {
  const message = 'Too many of your messages are being prepared. Try again in a few seconds.';
  return new RateLimitedError('TOO_MANY_MESSAGES', message, COME_AGAIN_SECONDS);
}

function digestOf({ html, plain, subject }: PlanSource): string {
  return createHash('sha256')
    .update(JSON.stringify([html, plain, subject]))
    .digest('base64');
}
