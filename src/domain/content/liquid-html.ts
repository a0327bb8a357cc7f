/**
 * Liquid in html: every output is escaped, and yet html that the author makes on purpose (a captured block, line
 * breaks) stays html. Escaping is done by signs, noncharacters that stand for `&<>"'` until all is rendered, so that
 * nothing is ever escaped twice.
 */
import { CaptureTag, type Context, type Liquid } from 'liquidjs';
import { escapeFor } from './escape.ts';

/** The first sign of each kind: `escaped` signs come from values, `literal` ones from the author. */
const SPECIAL = '&<>"\'';
const ESCAPED_BASE = 0xfdd4;
const LITERAL_BASE = 0xfdd9;
const SIGNS = /[\ufdd4-\ufddd]/g;

/** What liquidjs calls a filter on. */
export interface FilterThis {
  readonly context: Context;
}

/** Turns the signs of rendered html into characters: entities, or bare characters where an address is read. */
export function resolveSigns(text: string, bare = false): string {
  return text.replace(SIGNS, (sign) => {
    const code = sign.charCodeAt(0);
    const isLiteral = code >= LITERAL_BASE;
    const character = SPECIAL[code - (isLiteral ? LITERAL_BASE : ESCAPED_BASE)] ?? '';
    return isLiteral || bare ? character : escapeFor('html', character);
  });
}

/** In html every output is escaped, so filters and blocks that make html on purpose need a way to say so. */
export function openHtml(engine: Liquid): void {
  for (const name of ['escape', 'escape_once', 'xml_escape']) engine.registerFilter(name, textOf);
  engine.registerFilter('newline_to_br', function breakLines(this: FilterThis, value: unknown) {
    const text = textOf(value);
    this.context.memoryLimit.use(text.length);
    return text.replace(/\r?\n/g, `${literal('<br>')}\n`);
  });
  engine.registerTag('capture', LiteralCapture);
}

/** A captured block is the author's html with values that are escaped already: using it must not escape it again. */
class LiteralCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context);
    const scope: Record<string, unknown> = Object(context.bottom());
    scope[this.variable] = literal(textOf(scope[this.variable]));
  }
}

export function escapeOutput(this: FilterThis | undefined, value: unknown): string {
  const text = textOf(value);
  this?.context.memoryLimit.use(text.length);
  return signed(text, ESCAPED_BASE);
}

function literal(html: string): string {
  return signed(html, LITERAL_BASE);
}

function signed(text: string, base: number): string {
  return text.replace(/[&<>"']/g, (character) => String.fromCharCode(base + SPECIAL.indexOf(character)));
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(textOf).join('');
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
