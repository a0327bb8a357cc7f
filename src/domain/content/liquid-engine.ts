/**
 * Liquid for untrusted authors, by the liquidjs library with everything closed that reaches out: no file system,
 * no partials or layouts, own properties of plain data only, unknown filters refused, and limits on length, time,
 * allocations and output. The library's limits are cooperative; the hard one is the process that runs this.
 */
import { Context, filters, Liquid, LiquidError, toValueSync, type Template } from 'liquidjs';
import { messageOf, ValidationError } from '../../lib/errors.ts';
import { escapeFor, safeUrl, type Escape } from './escape.ts';
import { escapeOutput, openHtml, textOf, type FilterThis } from './liquid-html.ts';
import { stripNoncharacters, type PartName } from './template-marks.ts';

/** Longest text that may hold Liquid. Longer newsletters exist, but not with logic all over. */
const LIQUID_SOURCE_LENGTH_MAX = 262_144;
/** Wall-clock time for one part of one message. An honest template takes well under 1 ms. */
const RENDER_MS_MAX = 200;
/** liquidjs counts characters and array entries that filters and ranges make. */
const ALLOCATIONS_MAX = 1_000_000;
/** Characters that one part may come to. */
const OUTPUT_LENGTH_MAX = 1_048_576;
/** Tags that read other templates; without them no template can name a file. */
const CLOSED_TAGS = ['include', 'render', 'layout', 'block'];

const DECODERS = ['url_decode', 'base64_decode'];

const htmlEngine = createEngine(true);
const plainEngine = createEngine(false);

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
    throw templateFault(part, faultText(error));
  }
}

/** Fresh variables for one part of one message; its time runs from here. */
export function liquidContext(engine: Liquid, data: object): Context {
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
    throw templateFault(work.part, faultText(error));
  }
  return emitter.buffer;
}

/** The filter that an output needs in its place, as Liquid source; empty where escaping is enough. */
export function placeFilter(escape: Escape): string {
  if (escape === 'urlPart') return ' | place_in_url';
  if (escape === 'urlStart') return ' | place_as_url';
  return escape === 'name' ? ' | place_in_name' : '';
}

function createEngine(isHtml: boolean): Liquid {
  const engine = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    dynamicPartials: false,
    relativeReference: false,
    cache: false,
    timezoneOffset: 0,
    parseLimit: LIQUID_SOURCE_LENGTH_MAX,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: ALLOCATIONS_MAX,
    ...(isHtml ? { outputEscape: escapeOutput } : {}),
  });
  for (const tag of CLOSED_TAGS) delete engine.tags[tag];
  engine.unregisterFilter('raw');
  engine.registerFilter('place_in_url', (value: unknown) => escapeFor('urlPart', textOf(value)));
  engine.registerFilter('place_in_name', (value: unknown) => escapeFor('name', textOf(value)));
  engine.registerFilter('place_as_url', (value: unknown) => safeUrl(textOf(value)));
  for (const name of DECODERS) closeDecoder(engine, name);
  if (isHtml) openHtml(engine);
  return engine;
}

/** What a decoder brings to light may not pass for a sign or mark of ours. */
function closeDecoder(engine: Liquid, name: string): void {
  const original: unknown = filters[name];
  if (typeof original !== 'function') return;
  engine.registerFilter(name, function decode(this: FilterThis, value: unknown) {
    return stripNoncharacters(textOf(Reflect.apply(original, this, [textOf(value)])));
  });
}

/** Collects output up to the limit; a loop that writes for ever ends here. */
class BoundedEmitter {
  buffer = '';

  write(value: unknown): void {
    this.buffer += textOf(value);
    if (this.buffer.length > OUTPUT_LENGTH_MAX) throw new Error('output limit exceeded');
  }
}

function templateFault(part: PartName, text: string): ValidationError {
  return new ValidationError({ [part]: [text] }, 'TEMPLATE_FAULT', `The template of "${part}" has a fault. ${text}`);
}

function faultText(error: unknown): string {
  const text = messageOf(error).replace(/,?\s*(?:file:[^,]*, )?line:\d+, col:\d+$/, '');
  const line = LiquidError.is(error) ? lineOf(error) : undefined;
  return line === undefined ? `${text}.` : `Line ${line}: ${text}.`;
}

function lineOf(error: object): number | undefined {
  const token: unknown = Reflect.get(error, 'token');
  if (typeof token !== 'object' || token === null || !('getPosition' in token)) return undefined;
  const position: unknown = typeof token.getPosition === 'function' ? token.getPosition() : undefined;
  return Array.isArray(position) && typeof position[0] === 'number' ? position[0] : undefined;
}
