/**
 * Runs Liquid in a separate thread, so that a template that runs too long stops only itself: the thread is ended by CPU time or
 * memory, the one template is at fault, and all other work goes to a new thread. Requests of one tick travel in one message: a
 * batch of recipients costs little more than its Liquid.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { FailedTemplates } from './failed-templates.ts';
import { templateFault } from './template-fault.ts';
import type {
  LiquidAnswer,
  LiquidData,
  LiquidFilterModule,
  LiquidGroups,
  LiquidJob,
  LiquidSource,
} from './liquid-messages.ts';
import { NOWHERE, WatchedThread } from '../../lib/watched-thread.ts';

/** CPU time for one part of one message. An honest template takes well under 1 ms. */
const CPU_MS_MAX = 250;
const SILENCE_MS_MAX = 15_000;
/** The heap of the thread, the library included: 64 MB together. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 56, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 };
/** Parsed templates that the thread keeps. A message has at most four, and 20 messages are sent at once. */
const TEMPLATES_MAX = 100;
/** Characters of templates that the thread keeps, because its heap is limited. */
const TEMPLATE_LENGTH_SUM_MAX = 1_000_000;

/** A template that can be run for recipients. */
export interface LiquidTemplate {
  readonly groups: LiquidGroups;
  /** The texts of its slots for one recipient. Throws ValidationError on the part's field, naming the line. */
  render(data: LiquidData): Promise<readonly string[]>;
}

/** The filters of plugins at one time. Each set has a thread of its own, so what was begun with one ends with it. */
interface FilterSet {
  readonly number: number;
  readonly filters: readonly LiquidFilterModule[];
}

let current: FilterSet = { number: 0, filters: [] };

let reportFault: (plugin: string) => void = () => undefined;

/** Called each time a filter of a plugin fails, with the plugin. */
export function reportFilterFaults(report: (plugin: string) => void): void {
  reportFault = report;
}

/** From now on templates are parsed, and later run, with these filters of plugins. */
export function useLiquidFilters(filters: readonly LiquidFilterModule[]): void {
  if (isDeepStrictEqual(filters, current.filters) && filters.length === 0) return;
  current = { number: current.number + 1, filters };
  for (const set of threads.keys()) endUnused(set);
}

/** The number of the present set of filters: a template that was opened with an earlier one keeps that. */
export function liquidFilterSet(): number {
  return current.number;
}

/** Parses a template. Throws ValidationError (`TEMPLATE_FAULT`, `TEMPLATE_RUNAWAY`) on the part's field. */
export async function openLiquid(source: LiquidSource): Promise<LiquidTemplate> {
  const template: Template = { number: ++lastNumber, source, set: current };
  const answer = await request(template);
  return {
    groups: 'groups' in answer ? answer.groups : [],
    async render(data) {
      const rendered = await request(template, data);
      return 'texts' in rendered ? rendered.texts : [];
    },
  };
}

interface Template {
  readonly number: number;
  readonly source: LiquidSource;
  readonly set: FilterSet;
}

interface Task {
  readonly job: LiquidJob;
  readonly template: Template;
  readonly resolve: (answer: LiquidAnswer) => void;
  readonly reject: (error: Error) => void;
}

let lastNumber = 0;
let lastJob = 0;
const open = new Map<number, Task>();
let unsent: Task[] = [];
const threads = new Map<FilterSet, Thread>();
const failedTemplates = new FailedTemplates();

function request(template: Template, data?: LiquidData): Promise<LiquidAnswer> {
  const fault = failedTemplates.faultOf(() => digestOf(template, data));
  if (fault !== undefined) return Promise.reject(runawayError(template, fault));
  const { promise, resolve, reject } = Promise.withResolvers<LiquidAnswer>();
  lastJob = (lastJob % 0x7fff_fffe) + 1;
  const job = { id: lastJob, template: template.number, ...(data ? { data } : {}) };
  send([{ job, template, resolve, reject }]);
  return promise;
}

function send(tasks: readonly Task[]): void {
  for (const task of tasks) open.set(task.job.id, task);
  if (unsent.length === 0 && tasks.length > 0) queueMicrotask(flush);
  unsent.push(...tasks);
}

function flush(): void {
  const tasks = unsent;
  unsent = [];
  if (tasks.length === 0) return;
  for (const [set, its] of Map.groupBy(tasks, ({ template }) => template.set)) {
    const thread = threads.get(set) ?? new Thread(set);
    threads.set(set, thread);
    thread.post(its);
  }
}

function hasOpen(set: FilterSet): boolean {
  for (const { template } of open.values()) if (template.set === set) return true;
  return false;
}

/** A thread with earlier filters is not needed when its work is done; if a batch goes on with them, there is another. */
function endUnused(set: FilterSet): void {
  if (set === current || hasOpen(set)) return;
  threads.get(set)?.end();
  threads.delete(set);
}

function settle(answer: LiquidAnswer): void {
  const task = open.get(answer.id);
  if (!task) return;
  open.delete(answer.id);
  endUnused(task.template.set);
  if ('fault' in answer && answer.fault.plugin !== undefined) reportFault(answer.fault.plugin);
  if (!('fault' in answer)) task.resolve(answer);
  else if (answer.fault.isRunaway) task.reject(runawayError(task.template, answer.fault.text));
  else task.reject(templateFault(answer.fault.field, answer.fault.text));
}

/**
 * The thread has ended. The job that it worked on is at fault, and other requests for its template are not tried again: every try
 * could cost a thread. All other work is repeated in another thread.
 */
function replaceThread(lost: Thread, why: string): void {
  const { set } = lost;
  if (threads.get(set) !== lost) return;
  threads.delete(set);
  const causing = open.get(lost.jobAtWork());
  const at = lost.placeAtWork();
  const line = at === NOWHERE ? '' : `Line ${causing?.template.source.source.slice(0, at).split('\n').length}: `;
  const fault = `${line}${why}.`;
  if (causing) failedTemplates.add(digestOf(causing.template, causing.job.data), fault);
  for (const task of open.values()) {
    if (task.template.set !== set) continue;
    if (task.template === causing?.template) {
      open.delete(task.job.id);
      task.reject(runawayError(task.template, fault));
    } else if (!unsent.includes(task)) {
      send([task]);
    }
  }
  unsent = unsent.filter((task) => open.has(task.job.id));
}

function runawayError({ source }: Template, text: string) {
  return templateFault(source.field, text, { isRunaway: true });
}

/** With other values the same template may end. */
function digestOf({ source, set }: Template, data: LiquidData | undefined): string {
  const hash = createHash('sha256').update(`${set.number} ${source.isHtml}\n${source.source}\n`);
  return hash.update(JSON.stringify(data ?? null)).digest('base64');
}

/** One thread, and the templates that it has. */
class Thread {
  readonly set: FilterSet;
  #isNew = true;
  readonly #known = new Map<number, number>();
  readonly #thread = new WatchedThread<readonly LiquidAnswer[]>({
    program: new URL('./liquid-worker.ts', import.meta.url),
    resourceLimits: RESOURCE_LIMITS,
    cpuMsMax: CPU_MS_MAX,
    silenceMsMax: SILENCE_MS_MAX,
    hasWork: () => hasOpen(this.set),
    onAnswer: (answers) => answers.forEach(settle),
    onLost: (why) => replaceThread(this, why),
  });
  #knownLength = 0;

  constructor(set: FilterSet) {
    this.set = set;
  }

  end(): void {
    this.#thread.end();
  }

  jobAtWork(): number {
    return this.#thread.jobAtWork();
  }

  placeAtWork(): number {
    return this.#thread.placeAtWork();
  }

  post(tasks: readonly Task[]): void {
    const templates = new Map<number, LiquidSource>();
    for (const { template } of tasks) {
      if (!this.#known.has(template.number)) templates.set(template.number, template.source);
      this.#remember(template);
    }
    const discard = this.#discard(new Set(tasks.map((task) => task.template.number)));
    const filters = this.#isNew && this.set.filters.length > 0 ? { filters: this.set.filters } : {};
    this.#isNew = false;
    this.#thread.post({ ...filters, templates: [...templates], discard, jobs: tasks.map((task) => task.job) });
  }

  #remember({ number, source }: Template): void {
    if (!this.#known.delete(number)) this.#knownLength += source.source.length;
    this.#known.set(number, source.source.length);
  }

  /** The least recently used templates, when there are too many; never those that are needed now. */
  #discard(needed: ReadonlySet<number>): number[] {
    const discarded: number[] = [];
    for (const [number, length] of this.#known) {
      if (this.#known.size <= TEMPLATES_MAX && this.#knownLength <= TEMPLATE_LENGTH_SUM_MAX) break;
      if (needed.has(number)) continue;
      this.#known.delete(number);
      this.#knownLength -= length;
      discarded.push(number);
    }
    return discarded;
  }
}
