/**
 * One example for every row, recorded while the tests play it (`npm run examples` writes the file): what was sent, and
 * what came back, with uids, tokens and times exchanged for fixed ones.
 */
import { readFileSync } from 'node:fs';

export interface Example {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** JSON, or the beginning of a download. */
  readonly answer: unknown;
}

/** By method and path as the rows have them: `POST /lists/:uid/add-field`. */
export type Examples = Readonly<Record<string, Example>>;

/** Where they are kept. */
export const EXAMPLES_FILE = new URL('./examples.json', import.meta.url);

/** Reads what is kept. */
export function readExamples(): Examples {
  return JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8'));
}
