/**
 * Liquid in html: every output is escaped, but html that the author makes on purpose (a captured block, line breaks) stays html.
 * Escaping uses signs (liquid-signs.ts), so that nothing is ever escaped twice.
 */
import { CaptureTag, type Context, type Liquid } from 'liquidjs';
import { escapedSigns, literalSigns } from './liquid-signs.ts';

/** `this` of a filter in liquidjs. */
export interface FilterThis {
  readonly context: Context;
}

/** In html every output is escaped, so filters and blocks that make html on purpose must mark it. */
export function openHtml(engine: Liquid): void {
  for (const name of ['escape', 'escape_once', 'xml_escape']) engine.registerFilter(name, textOf);
  engine.registerFilter('newline_to_br', function breakLines(this: FilterThis, value: unknown) {
    const text = textOf(value);
    this.context.memoryLimit.use(text.length);
    return text.replace(/\r?\n/g, `${literalSigns('<br>')}\n`);
  });
  engine.registerTag('capture', LiteralCapture);
}

/** A captured block is the author's html with values that are escaped already: using it must not escape it again. */
class LiteralCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context);
    const scope: Record<string, unknown> = Object(context.bottom());
    scope[this.variable] = literalSigns(textOf(scope[this.variable]));
  }
}

export function escapeOutput(this: FilterThis | undefined, value: unknown): string {
  const text = textOf(value);
  this?.context.memoryLimit.use(text.length);
  return escapedSigns(text);
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(textOf).join('');
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
