/**
 * Liquid for untrusted authors, with the liquidjs library. Everything that accesses the outside is closed: no file system, no
 * partials or layouts, own properties of plain data only, unknown filters refused, and limits on length, time, allocations and
 * output. The library's limits are cooperative; the hard one is the thread that runs this and can be killed (liquid-thread.ts).
 */
import type { PartName } from './message.ts';
import { Context, filters, Liquid, LiquidError, RenderError, toValueSync, type Template } from 'liquidjs';
import { CLOSED_LIQUID, closeLiquid } from '../../lib/closed-liquid.ts';
import { messageOf, type ValidationError } from '../../lib/errors.ts';
import { withoutTrailing } from '../../lib/without-trailing.ts';
import { escapeFor, safeUrl } from './escape.ts';
import { templateFault } from './template-fault.ts';
import { escapeOutput, openHtml, textOf, type FilterThis } from './liquid-html.ts';
import { PROGRESS_AT } from '../../lib/watched-thread.ts';
import { stripNoncharacters } from './template-marks.ts';

/** Longest text with Liquid. Longer newsletters exist, but not with logic everywhere. */
const LIQUID_SOURCE_LENGTH_MAX = 262_144;
/** CPU time for one part of one message, checked between its templates. An honest one takes well under 1 ms. */
const RENDER_CPU_MS_MAX = 150;
/** Wall-clock time is no measure on a busy machine; this limit is for systems without CPU time. */
const RENDER_MS_MAX = 10_000;
/** Templates between two checks of the CPU time. */
const CHECK_EVERY = 64;
/** liquidjs counts characters and array entries made by filters and ranges. */
const ALLOCATIONS_MAX = 1_000_000;
/** The longest output of one part. */
const OUTPUT_LENGTH_MAX = 1_048_576;

const PLACE = /^line:\d+, col:\d+$/;
const DECODERS = ['url_decode', 'base64_decode'];

const htmlEngine = createEngine(true);
const plainEngine = createEngine(false);

let progress: Int32Array | undefined;
let steps = 0;
let startedAtMs = 0;

/** From now on the position of the running template is written there. */
export function watchProgress(shared: Int32Array): void {
  progress = shared;
}

export function liquidEngine(isHtml: boolean): Liquid {
  return isHtml ? htmlEngine : plainEngine;
}

/** Parses a template. Throws ValidationError on the part's field, naming the line. */
export function parseLiquid(engine: Liquid, source: string, part: PartName): Template[] {
  if (source.length > LIQUID_SOURCE_LENGTH_MAX) {
    throw templateFault(part, `A text with Liquid may have at most ${LIQUID_SOURCE_LENGTH_MAX} characters.`);
  }
  try {
    return engine.parse(source);
  } catch (error) {
    throw faultOf(part, error);
  }
}

/** New variables for one part of one message; its time starts here. */
export function liquidContext(engine: Liquid, data: object): Context {
  startedAtMs = cpuMs();
  return new Context(data, engine.options, { sync: true }, { liquid: engine });
}

/** Renders templates with shared variables. Throws ValidationError on the part's field, naming the line. */
export function renderLiquid(
  engine: Liquid,
  work: { templates: readonly Template[]; context: Context; part: PartName },
): string {
  const emitter = new BoundedEmitter();
  try {
    toValueSync(engine.renderer.renderTemplates([...work.templates], work.context, emitter));
  } catch (error) {
    throw faultOf(work.part, error);
  }
  return emitter.buffer;
}

function createEngine(isHtml: boolean): Liquid {
  const engine = new Liquid({
    ...CLOSED_LIQUID,
    timezoneOffset: 0,
    parseLimit: LIQUID_SOURCE_LENGTH_MAX,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: ALLOCATIONS_MAX,
    ...(isHtml ? { outputEscape: escapeOutput } : {}),
  });
  noteProgress(engine);
  closeLiquid(engine);
  engine.registerFilter('place_in_url', (value: unknown) => escapeFor('urlPart', textOf(value)));
  engine.registerFilter('place_in_name', (value: unknown) => escapeFor('name', textOf(value)));
  engine.registerFilter('place_as_url', (value: unknown) => safeUrl(textOf(value)));
  for (const name of DECODERS) closeDecoder(engine, name);
  if (isHtml) openHtml(engine);
  return engine;
}

let failedPlugin: string | undefined;

/** The plugin whose filter has failed since this was last called. */
export function takeFailedPlugin(): string | undefined {
  const plugin = failedPlugin;
  failedPlugin = undefined;
  return plugin;
}

/** Adds a filter of a plugin. What it returns is a text for the author's place, like a value: it is escaped, and has no marks of ours. */
export function addFilter(
  { name, plugin }: { name: string; plugin: string },
  act: (...args: unknown[]) => unknown,
): void {
  for (const engine of [htmlEngine, plainEngine]) {
    engine.registerFilter(name, (...args: unknown[]) => {
      try {
        const result = act(...args.map((value) => (typeof value === 'number' ? value : textOf(value))));
        if (typeof result !== 'string' && typeof result !== 'number') throw new Error('it returned no text');
        return stripNoncharacters(String(result));
      } catch (error) {
        failedPlugin = plugin;
        throw new Error(`the filter ${name} of the plugin ${plugin} failed: ${messageOf(error)}`, { cause: error });
      }
    });
  }
}

/** The output of a decoder must not contain our signs or marks. */
function closeDecoder(engine: Liquid, name: string): void {
  const original: unknown = filters[name];
  if (typeof original !== 'function') return;
  engine.registerFilter(name, function decode(this: FilterThis, value: unknown) {
    return stripNoncharacters(textOf(Reflect.apply(original, this, [textOf(value)])));
  });
}

/** Collects output up to the limit; ends an endless loop of output. */
class BoundedEmitter {
  buffer = '';

  write(value: unknown): void {
    this.buffer += textOf(value);
    if (this.buffer.length > OUTPUT_LENGTH_MAX) throw new Error('output limit exceeded');
  }
}

/** Every block runs its templates through this function, so the current template is known here. */
function noteProgress({ renderer }: Liquid): void {
  const original = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = function* noted(templates, context, given) {
    const emitter = given ?? new BoundedEmitter();
    for (const template of templates) {
      if (progress) Atomics.store(progress, PROGRESS_AT, template.token.begin);
      steps += 1;
      if (steps % CHECK_EVERY === 0 && cpuMs() - startedAtMs > RENDER_CPU_MS_MAX)
        throw new RenderError(new Error('time limit exceeded'), template);
      yield original([template], context, emitter);
      if (context.breakCalled || context.continueCalled) break;
    }
    return emitter.buffer;
  };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Limits are reached by templates that run too long, on purpose or not. */
function faultOf(part: PartName, error: unknown): ValidationError {
  const isRunaway = / limit exceeded|call stack size|Invalid (?:string|array) length/i.test(messageOf(error));
  return templateFault(part, faultText(error), { isRunaway });
}

function faultText(error: unknown): string {
  const text = withoutPlace(messageOf(error));
  const line = LiquidError.is(error) ? lineOf(error) : undefined;
  return line === undefined ? `${text}.` : `Line ${line}: ${text}.`;
}

/** The library's message without the line and column at its end. */
function withoutPlace(message: string): string {
  const at = message.lastIndexOf('line:');
  return at !== -1 && PLACE.test(message.slice(at)) ? withoutTrailing(message.slice(0, at), /[,\s]/) : message;
}

function lineOf(error: object): number | undefined {
  const token: unknown = Reflect.get(error, 'token');
  if (typeof token !== 'object' || token === null || !('getPosition' in token)) return undefined;
  const position: unknown = typeof token.getPosition === 'function' ? token.getPosition() : undefined;
  return Array.isArray(position) && typeof position[0] === 'number' ? position[0] : undefined;
}
