/**
 * Liquid for html pages: every output is escaped, no file or other template can be read, and a view has limits. A view is written by the
 * author of a plugin, its values come from anybody.
 */
import { Liquid } from 'liquidjs';
import { CLOSED_LIQUID, closeLiquid } from './closed-liquid.ts';

/** Longer views exist in no framework. */
export const VIEW_BYTES_MAX = 200_000;
/** A page of a thousand rows takes some 20 ms. */
const RENDER_MS_MAX = 1_000;
/** Characters and list entries that filters and ranges may make. */
const ALLOCATIONS_MAX = 2_000_000;
const OUTPUT_LENGTH_MAX = 2_000_000;

export type TranslateText = (key: string, values: Readonly<Record<string, string | number | boolean>>) => string;

/** Throws an Error with the place of the mistake. */
export function checkView(source: string): void {
  createEngine((key) => key).parse(source);
}

/** The view as html. Throws when it has a mistake or takes too long. */
export function renderView(source: string, data: object, translate: TranslateText): string {
  const engine = createEngine(translate);
  const text: unknown = engine.parseAndRenderSync(source, data);
  if (typeof text !== 'string' || text.length > OUTPUT_LENGTH_MAX)
    throw new Error(`The page is longer than ${OUTPUT_LENGTH_MAX} characters.`);
  return text;
}

function createEngine(translate: TranslateText): Liquid {
  const engine = new Liquid({
    ...CLOSED_LIQUID,
    outputEscape: 'escape',
    parseLimit: VIEW_BYTES_MAX,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: ALLOCATIONS_MAX,
  });
  closeLiquid(engine);
  engine.registerFilter('t', (key: unknown, ...given: unknown[]) => translate(String(key), valuesIn(given)));
  return engine;
}

/** Named arguments come as pairs; what is no text, number or flag is left out. */
function valuesIn(given: readonly unknown[]): Record<string, string | number | boolean> {
  const values: Record<string, string | number | boolean> = {};
  for (const pair of given) {
    if (!Array.isArray(pair)) continue;
    const [name, value]: readonly unknown[] = pair;
    if (typeof name !== 'string') continue;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') values[name] = value;
  }
  return values;
}
