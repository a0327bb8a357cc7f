/**
 * The thread that runs customers' Liquid. It has no environment, no secret and no database, and can be killed at any moment: the
 * library's own limits are cooperative and can be evaded.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Template } from 'liquidjs';
import { messageOf, ValidationError } from '../../lib/errors.ts';
import {
  addFilter,
  liquidContext,
  liquidEngine,
  parseLiquid,
  renderLiquid,
  takeFailedPlugin,
  watchProgress,
} from './liquid-engine.ts';
import { isRunaway } from './template-fault.ts';
import { groupTemplates } from './liquid-groups.ts';
import type {
  LiquidAnswer,
  LiquidData,
  LiquidFilterModule,
  LiquidGroups,
  LiquidJob,
  LiquidRequest,
  LiquidSource,
  LiquidValue,
} from './liquid-messages.ts';
import { NOWHERE, PROGRESS_AT, PROGRESS_JOB } from '../../lib/watched-thread.ts';

/** Answers are sent when they have so many characters, so that they do not use much memory here. */
const ANSWER_LENGTH_MAX = 1_000_000;

interface ParsedTemplate extends LiquidSource {
  parsed?: { readonly groups: LiquidGroups; readonly slots: readonly (readonly Template[])[] };
}

const templates = new Map<number, ParsedTemplate>();
const progress = new Int32Array(workerData.progress);
watchProgress(progress);

/** Filters of plugins that no template here has used yet. */
const unloaded = new Map<string, LiquidFilterModule>();
/** Only the loading of filters is waited for; without it, a request is worked on at once. */
let last: Promise<void> | undefined;

parentPort?.on('message', (request: LiquidRequest) => {
  for (const filter of request.filters ?? []) unloaded.set(filter.name, filter);
  const needed = filtersNeeded(request);
  if (needed.length === 0 && !last) {
    work(request);
    return;
  }
  const mine = (last ?? Promise.resolve()).then(() => loadFilters(needed)).then(() => work(request));
  last = mine;
  void mine.then(() => {
    if (last === mine) last = undefined;
  });
});

interface NeededFilter {
  readonly filter: LiquidFilterModule;
  /** The first job of the template that uses it. */
  readonly job: number;
}

/** So a filter whose module does not end loading stops only templates that use it. */
function filtersNeeded({ templates: added, jobs }: LiquidRequest): readonly NeededFilter[] {
  return added.flatMap(([number, { source }]) => {
    const job = jobs.find(({ template }) => template === number)?.id ?? 0;
    return [...unloaded.values()].flatMap((filter) => {
      if (!source.includes(filter.name)) return [];
      unloaded.delete(filter.name);
      return [{ filter, job }];
    });
  });
}

function work(request: LiquidRequest): void {
  for (const number of request.discard) templates.delete(number);
  for (const [number, source] of request.templates) templates.set(number, { ...source });
  let answers: LiquidAnswer[] = [];
  let length = 0;
  const flush = (): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    parentPort?.postMessage(answers);
    answers = [];
    length = 0;
  };
  for (const job of request.jobs) {
    Atomics.store(progress, PROGRESS_AT, NOWHERE);
    Atomics.store(progress, PROGRESS_JOB, job.id);
    const answer = answerTo(job);
    Atomics.store(progress, PROGRESS_JOB, 0);
    answers.push(answer);
    if ('texts' in answer) length += answer.texts.reduce((sum, text) => sum + text.length, 0);
    if (length > ANSWER_LENGTH_MAX) flush();
  }
  flush();
}

/** The job is at fault when the module does not end loading: the thread is ended. */
async function loadFilters(needed: readonly NeededFilter[]): Promise<void> {
  for (const { filter, job } of needed) {
    Atomics.store(progress, PROGRESS_AT, NOWHERE);
    Atomics.store(progress, PROGRESS_JOB, job);
    addFilter(filter, await importFilter(filter));
    Atomics.store(progress, PROGRESS_JOB, 0);
  }
}

/** The function, or why there is none: only templates that use the filter have that fault. */
async function importFilter({ module, export: name }: LiquidFilterModule): Promise<(...args: unknown[]) => unknown> {
  try {
    const exported: unknown = Reflect.get(await import(module), name);
    if (typeof exported !== 'function') throw new Error(`its module does not export the function ${name}`);
    return (...args) => Reflect.apply(exported, undefined, args);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function answerTo({ id, template, data }: LiquidJob): LiquidAnswer {
  const known = templates.get(template);
  if (known === undefined) throw new Error(`The template ${template} was never sent here.`);
  takeFailedPlugin();
  try {
    const { groups, slots } = (known.parsed ??= parsedOf(known));
    if (data === undefined) return { id, groups };
    const engine = liquidEngine(known.isHtml);
    const context = liquidContext(engine, withoutPrototypes(data));
    return { id, texts: slots.map((slot) => renderLiquid(engine, { templates: slot, context, part: known.field })) };
  } catch (error) {
    const isExpected = error instanceof ValidationError;
    const text = isExpected ? error.fields[known.field]?.[0] : undefined;
    const fault = {
      field: known.field,
      text: text ?? `${messageOf(error)}.`,
      isRunaway: !isExpected || isRunaway(error),
      plugin: takeFailedPlugin(),
    };
    return { id, fault };
  }
}

function parsedOf({ source, isHtml, field }: LiquidSource) {
  const parts = groupTemplates(parseLiquid(liquidEngine(isHtml), source, field));
  return {
    groups: parts.map((part) => (typeof part === 'string' ? part : null)),
    slots: parts.filter((part) => typeof part !== 'string'),
  };
}

/** Objects from another thread have a prototype; templates must not find it. */
function withoutPrototypes(data: LiquidData): LiquidData {
  const bare: LiquidData = Object.create(null);
  for (const [name, value] of Object.entries(data)) bare[name] = bareValue(value);
  return bare;
}

function bareValue(value: LiquidValue): LiquidValue {
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? value.map(bareValue) : withoutPrototypes(value);
}
