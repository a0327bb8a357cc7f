/**
 * Packs the usual record without making a text of it: an ordinary address, values that need no escapes. Whatever is
 * unusual (a rare character, a value out of the ordinary, an address that came before) is refused, and goes the long
 * way of `person.ts`, which decides. Nothing is taken here that would be rejected or changed there.
 */
import { PLAIN, QUOTED, type CsvScanner } from './csv-scanner.ts';
import { hashOf, type PackedPeople } from './packed-people.ts';
import type { FieldColumn, PersonReader } from './person.ts';
import { isUsualDateTime, isUsualNumber, isUsualText } from './usual-values.ts';
import { copyUsualAddress } from './usual-address.ts';

/** The limits of text.ts and list-field.ts, in bytes: never looser than theirs. */
export const ADDRESS_BYTES_MAX = 254;
const VALUE_BYTES_MAX = 4_000;
const QUOTE = 0x22;
const CLOSE = 0x7d;
const SUBSCRIBED = Buffer.from('\tsubscribed\t{');

interface PackedColumn {
  readonly index: number;
  readonly type: FieldColumn['type'];
  /** `"TAG":"`, and the same with a comma before it. */
  readonly first: Buffer;
  readonly further: Buffer;
}

export class RecordPacker {
  readonly #emailAt: number;
  readonly #width: number;
  /** Columns that must be empty for a record to be usual. */
  readonly #mustBeEmpty: readonly number[];
  readonly #columns: readonly PackedColumn[];
  readonly #bytesBeside: number;

  constructor({ columns, fieldColumns, emailAt, statusAt, tagsAt }: PersonReader) {
    this.#emailAt = emailAt;
    this.#width = columns.length;
    this.#mustBeEmpty = [statusAt, tagsAt].filter((at) => at !== -1);
    this.#columns = fieldColumns.map(({ index, type, tag }) => {
      const name = `${JSON.stringify(tag)}:"`;
      return { index, type, first: Buffer.from(name), further: Buffer.from(`,${name}`) };
    });
    this.#bytesBeside = this.#columns.reduce(
      (sum, { further }) => sum + further.length + 1,
      2 * ADDRESS_BYTES_MAX + 64,
    );
  }

  /** Packs the scanner's record into `people`; false when it is unusual. */
  pack(record: CsvScanner, people: PackedPeople): boolean {
    if (record.isBroken || !record.isSound || record.count > this.#width || record.count <= this.#emailAt) return false;
    for (const at of this.#mustBeEmpty) if (at < record.count && record.stops[at] !== record.starts[at]) return false;
    const last = record.count - 1;
    const length = (record.stops[last] ?? 0) - (record.starts[0] ?? 0);
    people.reserve(length + this.#bytesBeside + people.prefix.length + people.suffix.length);

    const { bytes: target, size: start } = people;
    const source = record.bytes;
    const emailStart = record.starts[this.#emailAt] ?? 0;
    const emailStop = record.stops[this.#emailAt] ?? 0;
    if ((record.kinds[this.#emailAt] ?? 0) > QUOTED || emailStop - emailStart > ADDRESS_BYTES_MAX) return false;
    let at = start + people.prefix.copy(target, start);
    const keyStart = copyUsualAddress({ source, start: emailStart, stop: emailStop, target, at });
    if (keyStart === 0) return false;
    const keyStop = keyStart + emailStop - emailStart;
    at = keyStop + SUBSCRIBED.copy(target, keyStop);
    const fieldsStart = at - 1;
    at = this.#packFields(record, target, at);
    if (at === 0) return false;
    target[at++] = CLOSE;
    const end = at + people.suffix.copy(target, at);
    const hash = hashOf(target, keyStart, keyStop);
    return people.append({ start, keyStart, keyStop, fieldsStart, fieldsStop: at, end, hash, line: record.line });
  }

  /** Writes the values at `at`; answers where they end, 0 when one is unusual. */
  #packFields(record: CsvScanner, target: Buffer, begin: number): number {
    const source = record.bytes;
    let at = begin;
    for (const { index, type, first, further } of this.#columns) {
      if (index >= record.count) continue;
      const from = record.starts[index] ?? 0;
      const to = record.stops[index] ?? 0;
      if (from === to) continue;
      if (!isUsualCell(record, index, type)) return 0;
      at += (at === begin ? first : further).copy(target, at);
      for (let byte = from; byte < to; byte++) target[at++] = source[byte] ?? 0;
      target[at++] = QUOTE;
    }
    return at;
  }
}

/** Whether the cell is a value of this type just as it stands. */
export function isUsualCell(record: CsvScanner, index: number, type: FieldColumn['type']): boolean {
  const start = record.starts[index] ?? 0;
  const stop = record.stops[index] ?? 0;
  const { bytes } = record;
  if ((record.kinds[index] ?? PLAIN) > QUOTED || stop - start > VALUE_BYTES_MAX) return false;
  switch (type) {
    case 'text':
      return isUsualText(bytes, start, stop);
    case 'number':
      return isUsualNumber(bytes, start, stop);
    case 'datetime':
      return isUsualDateTime(bytes, start, stop);
  }
}
