/**
 * One example per row, recorded while the tests run it (`npm run examples` writes the file): request and answer, with uids,
 * tokens and times replaced by fixed ones.
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

/** The file with the examples. */
export const EXAMPLES_FILE = new URL('./examples.json', import.meta.url);

/** Reads the examples. */
export function readExamples(): Examples {
  return JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8'));
}
