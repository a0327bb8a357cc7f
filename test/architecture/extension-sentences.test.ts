/** Each promise about plugins has a test, and where several processes matter, one that has several. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { extensionSentences } from '../support/extension-sentences.ts';
import type { PlaceOfTest } from '../support/sentence.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** What starts a process of the product. */
const STARTS = /\b(?:startProgram|startWithParent|startFaultyWorld)\(/g;
/** Starts several. */
const STARTS_SEVERAL = /\bkillFollowers\(/;

function textOf([file]: PlaceOfTest): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** Whether a test of this title is there, and is not left out. */
function isPlayed(place: PlaceOfTest): boolean {
  const [, title] = place;
  const text = textOf(place);
  const at = [`'${title}'`, `\`${title}\``, `"${title}"`].map((quoted) => text.indexOf(quoted)).find((i) => i >= 0);
  if (at === undefined) return false;
  const statement =
    text
      .slice(0, at)
      .split(/\n(?=(?:test|it|describe)\b|  (?:test|it)\b)/)
      .at(-1) ?? '';
  return /^\s*(?:test|it)\b/.test(statement) && !/^\s*(?:test|it)\.(?:skip|todo|fails)/.test(statement);
}

describe('promises about plugins', () => {
  it('are said once', () => {
    const said = extensionSentences.map(({ of, says }) => `${of} ${says}`);
    expect(said.filter((one, index) => said.indexOf(one) !== index)).toEqual([]);
    expect(said.length).toBeGreaterThan(80);
  });

  it.each(extensionSentences)('$of $says', ({ playedBy, onTwo }) => {
    expect(isPlayed(playedBy), `no test "${playedBy[1]}" in ${playedBy[0]}`).toBe(true);
    if (!onTwo) return;
    expect(isPlayed(onTwo), `no test "${onTwo[1]}" in ${onTwo[0]}`).toBe(true);
    const text = textOf(onTwo);
    const starts = STARTS_SEVERAL.test(text) ? 2 : [...text.matchAll(STARTS)].length;
    expect(starts, `${onTwo[0]} starts one process at most`).toBeGreaterThan(1);
  });
});
