/**
 * The parts of a file that are written in one transaction each: people by address, and rejected lines. A person who occurs twice
 * in a slice is one person: the later line adds to the earlier and overrides it.
 */
import { setImmediate } from 'node:timers/promises';
import type { Database } from '../../../db/database.ts';
import type { Rejection } from './copy-format.ts';
import { CsvReader, type CsvRecord } from './csv-reader.ts';
import { readImportFile } from './import-file.ts';
import type { RejectionReason } from './import-report.ts';
import type { ListImport } from './list-import.ts';
import { mergePerson, type Person, type PersonReader } from './person.ts';

/** A slice of very long lines ends here, so that bytes in memory are limited too. */
const SLICE_BYTES_MAX = 8 * 1024 * 1024;
/** A pause for other work after so many records; a record that cannot be read may take as long as many. */
const RECORDS_PER_TICK = 2_000;
const BROKEN_PER_TICK = 64;

export interface ImportSlice {
  /** By the address as it is compared, in the order of the file. */
  readonly people: Map<string, Person>;
  readonly rejections: Rejection[];
  /** Its place in the file: offsets of its first byte and of the byte after its last; lines before it. */
  readonly start: number;
  end: number;
  endLine: number;
  /** Lines that are not empty. */
  processed: number;
}

export interface SliceOptions {
  readonly reader: PersonReader;
  /** The most lines of a slice. */
  readonly linesMax: number;
}

/** The rest of the file, in slices. */
export async function* readSlices(
  db: Database,
  found: ListImport,
  { reader, linesMax }: SliceOptions,
): AsyncGenerator<ImportSlice> {
  const csv = new CsvReader({
    separator: found.separator ?? ',',
    offset: Number(found.bytesProcessed),
    line: found.linesProcessed + 1,
  });
  let slice = emptySlice(Number(found.bytesProcessed));
  let pause = 0;
  for await (const { bytes, isLast } of readImportFile(db, found, slice.start)) {
    for (const record of csv.push(bytes, isLast)) {
      pause += record.isBroken ? RECORDS_PER_TICK / BROKEN_PER_TICK : 1;
      if (pause >= RECORDS_PER_TICK) {
        pause = 0;
        await setImmediate();
      }
      add(slice, record, found.updateExisting, reader.read(record));
      if (slice.processed < linesMax && slice.end - slice.start < SLICE_BYTES_MAX) continue;
      yield slice;
      slice = emptySlice(slice.end);
    }
  }
  if (slice.end > slice.start) yield slice;
}

function emptySlice(start: number): ImportSlice {
  return { people: new Map(), rejections: [], start, end: start, endLine: 0, processed: 0 };
}

function add(
  slice: ImportSlice,
  record: CsvRecord,
  updates: boolean,
  read: Person | RejectionReason | undefined,
): void {
  slice.end = record.end;
  slice.endLine = record.line + record.lines - 1;
  if (read === undefined) return;
  slice.processed++;
  if ('code' in read) {
    slice.rejections.push({ line: record.line, reason: read, cells: record.cells });
    return;
  }
  const before = slice.people.get(read.key);
  if (!before) slice.people.set(read.key, read);
  else if (updates) slice.people.set(read.key, mergePerson(before, read));
  else before.lines.push(...read.lines.map((line) => ({ ...line, tags: [] })));
}
