/** Signs: noncharacters that replace `&<>"'` in Liquid's output until everything is rendered. */
import { escapeFor } from './escape.ts';

/** The first sign of each kind: `escaped` signs come from values, `literal` ones from the author. */
const SPECIAL = '&<>"\'';
const ESCAPED_BASE = 0xfdd4;
const LITERAL_BASE = 0xfdd9;
const SIGNS = /[\ufdd4-\ufddd]/g;

/** Turns the signs of rendered html into characters: entities, or bare characters where an address is read. */
export function resolveSigns(text: string, bare = false): string {
  return text.replace(SIGNS, (sign) => {
    const code = sign.charCodeAt(0);
    const isLiteral = code >= LITERAL_BASE;
    const character = SPECIAL[code - (isLiteral ? LITERAL_BASE : ESCAPED_BASE)] ?? '';
    return isLiteral || bare ? character : escapeFor('html', character);
  });
}

export function literalSigns(html: string): string {
  return signed(html, LITERAL_BASE);
}

export function escapedSigns(text: string): string {
  return signed(text, ESCAPED_BASE);
}

function signed(text: string, base: number): string {
  return text.replace(/[&<>"']/g, (character) => String.fromCharCode(base + SPECIAL.indexOf(character)));
}
