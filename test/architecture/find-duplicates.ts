/** Finds duplicated code: the same lines in two places. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Shorter ones are often calls and lists that are alike by chance. */
const LINES_MIN = 6;
/** Ignored lines: comments, punctuation only. */
const THIN = /^(\/\/|\/?\*|[\s{}()[\];,]*$)/;
/** Ignored, too: imports. Modules of one kind, such as the drivers of vendors, import the same names. */
const IMPORTS = /^import\b[^;]*;$/gm;

interface Line {
  readonly text: string;
  readonly number: number;
}

export interface Duplicate {
  readonly lines: number;
  /** `file:line` of both places. */
  readonly places: readonly [string, string];
}

/** Every pair of places with at least six same lines in a row, white space and comments aside; longest first. */
export function findDuplicates(root: string, files: readonly string[]): Duplicate[] {
  const texts = new Map(files.map((file) => [file, linesOf(readFileSync(path.join(root, file), 'utf8'))]));
  const seen = new Map<string, { file: string; index: number }[]>();
  const found: Duplicate[] = [];
  for (const [file, lines] of texts) {
    for (let index = 0; index + LINES_MIN <= lines.length; index += 1) {
      const key = textAt(lines, index, LINES_MIN);
      const earlier = seen.get(key) ?? [];
      for (const other of earlier) {
        const run = runOf(texts.get(other.file) ?? [], other.index, { lines, index });
        if (run !== undefined) {
          const first = texts.get(other.file)?.[other.index]?.number;
          found.push({ lines: run, places: [`${other.file}:${first}`, `${file}:${lines[index]?.number}`] });
        }
      }
      seen.set(key, [...earlier, { file, index }]);
    }
  }
  return found.toSorted((a, b) => b.lines - a.lines);
}

/** How many lines are the same from here on; undefined when the line before is the same, too: then it was counted there. */
function runOf(
  first: readonly Line[],
  at: number,
  second: { lines: readonly Line[]; index: number },
): number | undefined {
  const { lines, index } = second;
  if (at > 0 && index > 0 && first[at - 1]?.text === lines[index - 1]?.text) return undefined;
  let run = LINES_MIN;
  while (first[at + run] !== undefined && first[at + run]?.text === lines[index + run]?.text) run += 1;
  return run;
}

function textAt(lines: readonly Line[], index: number, count: number): string {
  return lines
    .slice(index, index + count)
    .map(({ text }) => text)
    .join('\n');
}

function linesOf(source: string): Line[] {
  return source
    .replace(IMPORTS, (statement) => statement.replace(/[^\n]+/g, ''))
    .split('\n')
    .map((text, index) => ({ text: text.trim(), number: index + 1 }))
    .filter(({ text }) => !THIN.test(text));
}
