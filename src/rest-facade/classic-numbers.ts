/**
 * Countries and currencies by number or ISO code (decision D51): standard has the numbers of the schema, classic those that its
 * clients have built in, and both take a code instead.
 */
import type { Dialect } from './dialects.ts';
import type { Input } from './input.ts';

export interface ClassicNumbers {
  /** The parameter's number or code; neither when it is absent or empty. A number of the classic dialect becomes a code. */
  read(input: Input, name: string, dialect: Dialect): { readonly number?: number; readonly code?: string };
  /** The rows of an index, in the order of the dialect's numbers. */
  present<Row extends { readonly id: number; readonly code: string }>(
    rows: readonly Row[],
    dialect: Dialect,
  ): readonly Row[];
}

const CODE = /^\s*[a-z]{2,3}\s*$/i;

/** The table of a noun by its codes in the order of their numbers from 1; `unknown` ends the sentence about another number. */
export function classicNumbers(codes: readonly string[], unknown: string): ClassicNumbers {
  const numbers = new Map(codes.map((code, index) => [code, index + 1]));
  return {
    read(input, name, dialect) {
      const given = input.raw(name);
      if (typeof given === 'string' && CODE.test(given)) return { code: given.trim() };
      const number = input.integer(name);
      // Forms send 0 when nothing was chosen.
      if (dialect === 'standard' || !number) return number === undefined ? {} : { number };
      const code = codes[number - 1];
      if (code === undefined) input.refuse(name, `The ${name.replaceAll('_', ' ')} ${unknown}.`);
      return code === undefined ? {} : { code };
    },
    present(rows, dialect) {
      if (dialect === 'standard') return rows;
      return rows.map((row) => ({ ...row, id: numbers.get(row.code) ?? 0 })).toSorted((a, b) => a.id - b.id);
    },
  };
}
