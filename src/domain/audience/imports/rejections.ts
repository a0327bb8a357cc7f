/** Lines of a file that were not taken, as they are kept. */
import { copyText } from './copy-text.ts';
import type { ImportKey } from './list-import.ts';

export interface Rejection {
  readonly line: number;
  readonly reason: string;
  readonly cells: readonly string[];
}

/** A rejected line is kept to be read and mended by a person. */
const CELLS_TEXT_MAX = 16_000;
/** Of a longer one the beginning. */
const BEGINNING_MAX = 2_000;

export const COPY_REJECTIONS = 'COPY import_rejection (customer_id, import_id, line_no, reason, cells) FROM STDIN';

/** Rows for COPY_REJECTIONS. */
export function* copyRejections({ customerId, id }: ImportKey, rejections: readonly Rejection[]): Generator<string> {
  for (const { line, reason, cells } of rejections) {
    yield `${customerId}\t${id}\t${line}\t${copyText(storable(reason))}\t${copyText(cellsText(cells))}\n`;
  }
}

/** JSON keeps what a text of the database may not hold (NUL) as an escape. */
function cellsText(cells: readonly string[]): string {
  const text = JSON.stringify(cells);
  return text.length <= CELLS_TEXT_MAX ? text : JSON.stringify([`${cells.join(' ').slice(0, BEGINNING_MAX)}…`]);
}

function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
