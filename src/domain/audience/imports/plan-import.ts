/**
 * Reads the beginning of a file and decides how the whole of it is read: separator, header, and the meaning of each column. Pure;
 * a file that cannot be imported is refused here with a helpful message, before anything is queued.
 */
import { isEmailAddress } from '../../../lib/text.ts';
import type { ListField } from '../list-field.ts';
import { CsvReader, type CsvRecord } from './csv-reader.ts';
import type { ImportNotice } from './import-report.ts';
import { unusableFile } from './list-import-errors.ts';
import type { ColumnMapping, ImportColumn } from './list-import.ts';
import { mapColumns } from './map-columns.ts';

export interface ImportPlan {
  readonly separator: string;
  readonly hasHeader: boolean;
  readonly columns: readonly ImportColumn[];
  readonly notices: readonly ImportNotice[];
  /** The bytes before the first person. */
  readonly bytesProcessed: number;
  readonly linesProcessed: number;
}

export interface PlanImportInput {
  /** UTF-8; the whole file when `isWhole`. */
  readonly start: Uint8Array;
  readonly isWhole: boolean;
  readonly fields: readonly Pick<ListField, 'tag' | 'label'>[];
  readonly mapping: ColumnMapping;
}

/** Bytes of the file that are read for the plan: some hundred people. */
export const PLAN_BYTES = 256 * 1024;
const SEPARATORS = [',', ';', '\t', '|'] as const;
/** Records by which a separator is judged. */
const SAMPLE_RECORDS = 50;
const SAMPLE_PIECE_BYTES = 8 * 1024;
const MARK_BYTES = 3;
const ZEROS_MAX = 0.001;

/** Throws ValidationError `IMPORT_FILE_UNUSABLE` (field `file`), or on `mapping.<header>` when that names no field. */
export function planImport({ start, isWhole, fields, mapping }: PlanImportInput): ImportPlan {
  refuseOtherFormats(start);
  const text: Sample = { bytes: start, isWhole, offset: markLength(start), line: 1 };
  const { separator, from } = announcedSeparator(text) ?? { separator: likeliestSeparator(text), from: text };
  const records = sampleRecords(from, separator);
  const [first] = records;
  if (!first) throw unusableFile({ code: 'file_empty', params: {} });
  const hasHeader = !first.cells.some((cell) => isEmailAddress(cell.trim()));
  const { columns, notices } = mapColumns({
    header: hasHeader ? first.cells : undefined,
    sample: (hasHeader ? records.slice(1) : records).map(({ cells }) => cells),
    fields,
    mapping,
  });
  const begin = hasHeader
    ? { bytesProcessed: first.end, linesProcessed: first.line + first.lines - 1 }
    : { bytesProcessed: from.offset, linesProcessed: from.line - 1 };
  return { separator, hasHeader, columns, notices, ...begin };
}

interface Sample {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  readonly offset: number;
  readonly line: number;
}

function markLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? MARK_BYTES : 0;
}

function refuseOtherFormats(bytes: Uint8Array): void {
  const begins = (...signature: readonly number[]) => signature.every((byte, index) => bytes[index] === byte);
  if (begins(0x50, 0x4b, 0x03, 0x04) || begins(0xd0, 0xcf, 0x11, 0xe0)) {
    throw unusableFile({ code: 'file_not_csv', params: {} });
  }
  if (begins(0x25, 0x50, 0x44, 0x46) || begins(0x1f, 0x8b) || isBinary(bytes)) {
    throw unusableFile({ code: 'file_not_text', params: {} });
  }
}

/** A single NUL spoils a line; a file full of them is no text. */
function isBinary(bytes: Uint8Array): boolean {
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
  return zeros > bytes.length * ZEROS_MAX;
}

/** Spreadsheets write `sep=;` as a separate first line. */
function announcedSeparator(sample: Sample): { separator: string; from: Sample } | undefined {
  const head = Buffer.from(sample.bytes.subarray(sample.offset, sample.offset + 10)).toString('latin1');
  const match = /^"?sep=([,;\t|])"?(\r\n|\n|\r)/i.exec(head);
  const separator = match?.[1];
  if (!match || separator === undefined) return undefined;
  return { separator, from: { ...sample, offset: sample.offset + match[0].length, line: sample.line + 1 } };
}

/** The separator with which the most records have as many cells as the first; if equal, the one with more cells. */
function likeliestSeparator(sample: Sample): string {
  const scored = SEPARATORS.map((separator) => {
    const records = sampleRecords(sample, separator);
    const columns = records[0]?.cells.length ?? 0;
    const alike = records.filter(({ cells }) => cells.length === columns).length / Math.max(1, records.length);
    const showsAddress = records.slice(0, 2).some(({ cells }) => cells.some((cell) => isEmailAddress(cell.trim())));
    return { separator, columns, score: columns < 2 ? 0 : alike + (showsAddress ? 1 : 0) };
  });
  const best = scored.reduce((a, b) => (b.score > a.score || (b.score === a.score && b.columns > a.columns) ? b : a));
  return best.separator;
}

function sampleRecords({ bytes, isWhole, offset, line }: Sample, separator: string): CsvRecord[] {
  const reader = new CsvReader({ separator, offset, line });
  const records: CsvRecord[] = [];
  // Parsed piece by piece, because usually the first piece has enough records.
  for (let at = offset; at < bytes.length; at += SAMPLE_PIECE_BYTES) {
    const stop = at + SAMPLE_PIECE_BYTES;
    for (const record of reader.push(bytes.subarray(at, stop), isWhole && stop >= bytes.length)) {
      if (record.cells.some((cell) => cell.trim() !== '')) records.push(record);
      if (records.length === SAMPLE_RECORDS) return records;
    }
  }
  return records;
}
