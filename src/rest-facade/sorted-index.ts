/** Indexes that are found by a text and by when their rows were made, and sorted (decision D97). */
import { pageArguments } from './dialects.ts';
import type { Input } from './input.ts';

/** `q`, `created_at[from]`, `created_at[to]`, `sort`, `direction`, `page` and `per_page`. */
export function sortedIndexArguments(input: Input) {
  const between = input.object('created_at');
  return {
    q: input.text('q'),
    createdFrom: between?.time('from'),
    createdTo: between?.time('to'),
    sort: input.choice('sort', ['created_at', 'updated_at', 'name']),
    direction: input.choice('direction', ['asc', 'desc']),
    ...pageArguments(input),
  };
}

const NAMES: Readonly<Record<string, string>> = {
  createdFrom: 'created_at[from]',
  createdTo: 'created_at[to]',
};

/** The parameters' names for the fields of the schema. */
export function sortedIndexName(path: string): string | undefined {
  return NAMES[path];
}
