/**
 * Compares the usual record with who is on the list where it lies, before anything is made of it: in a file that comes
 * again nearly every line says what is known already. Whatever is unusual is not said anything of; the long way decides.
 */
import type { CsvScanner } from './csv-scanner.ts';
import { QUOTED } from './csv-scanner.ts';
import { hashBytes } from '../../../lib/hash-bytes.ts';
import { DIGEST_WORDS, type Comparison, type KnownMembers } from './known-members.ts';
import type { PersonReader } from './person.ts';
import { ADDRESS_BYTES_MAX, isUsualCell } from './record-packer.ts';

const APOSTROPHE = 0x27;
const BEYOND_ASCII = 0x80;

export class RecordComparer {
  readonly #members: KnownMembers;
  readonly #reader: PersonReader;
  readonly #key = Buffer.alloc(ADDRESS_BYTES_MAX);
  readonly #probe = new Uint32Array(DIGEST_WORDS);

  constructor(members: KnownMembers, reader: PersonReader) {
    this.#members = members;
    this.#reader = reader;
  }

  /** What the scanner's record is beside the list; undefined when nothing is said of it. */
  compare(record: CsvScanner): Comparison | undefined {
    const { columns, emailAt, fieldColumns } = this.#reader;
    if (record.isBroken || !record.isSound || record.count > columns.length || record.count <= emailAt)
      return undefined;
    const probe = this.#probe.fill(0);
    const stop = this.#writeKey(record, emailAt);
    if (stop === 0) return undefined;
    hashBytes(this.#key, { start: 0, stop }, { into: probe, at: 0 });
    for (const { index, type } of fieldColumns) {
      // A cell that is not there says as little as an empty one.
      const isThere = index < record.count;
      const span = { start: isThere ? (record.starts[index] ?? 0) : 0, stop: isThere ? (record.stops[index] ?? 0) : 0 };
      if (span.start !== span.stop && !isUsualCell(record, index, type)) return undefined;
      hashBytes(record.bytes, span, { into: probe, at: 2 });
    }
    return this.#members.compareDigest(probe);
  }

  /** The address in lower case; answers where it ends, 0 when it is unusual. Whether it is an address at all, who is on the list knows. */
  #writeKey({ bytes, starts, stops, kinds }: CsvScanner, column: number): number {
    const start = starts[column] ?? 0;
    const length = (stops[column] ?? 0) - start;
    if ((kinds[column] ?? 0) > QUOTED || length > ADDRESS_BYTES_MAX || bytes[start] === APOSTROPHE) return 0;
    for (let at = 0; at < length; at++) {
      const byte = bytes[start + at] ?? 0;
      if (byte >= BEYOND_ASCII) return 0;
      this.#key[at] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    }
    return length;
  }
}
