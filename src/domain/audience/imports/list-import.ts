/**
 * An import of one file of people into a list: its states, data and limits. An import is uploaded in chunks, planned when the
 * upload is complete, and run by a job that commits people and progress together.
 */
import { z } from 'zod';
import { row, type RowOf, typed } from '../../../db/database.ts';
import { flag, optionalLine } from '../../../lib/text.ts';
import { tagsInput } from '../subscriber.ts';
import type { ImportFailure, ImportNotice } from './import-report.ts';

/** `uploading` → `queued` → `running` → `done`; from each of the first three to `cancelled` or `failed`. */
export type ImportStatus = 'uploading' | 'queued' | 'running' | 'done' | 'cancelled' | 'failed';

/** What a column of the file contains: one of these, or the tag of a field. */
export const SPECIAL_TARGETS = ['EMAIL', 'STATUS', 'TAGS'] as const;

export interface ImportColumn {
  readonly header: string;
  /** A field's tag, `EMAIL`, `STATUS`, `TAGS`, or null for an ignored column. */
  readonly target: string | null;
}

export const LIST_IMPORT_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  listId: 'bigint',
  fileName: 'text',
  status: typed<ImportStatus>('text'),
  encoding: 'text?',
  separator: 'text?',
  hasHeader: 'bool',
  columns: typed<readonly ImportColumn[]>('json'),
  notices: typed<readonly ImportNotice[]>('json'),
  updateExisting: 'bool',
  tag: 'text?',
  /** What it does to people may start flows (D72). */
  runAutomations: 'bool',
  /** The people that it adds are verified when it ends. */
  verify: 'bool',
  bytesTotal: 'bigint',
  /** Everybody up to this byte of the file is written. It starts at the first person, after the header line. */
  bytesProcessed: 'bigint',
  linesProcessed: 'int',
  /** added + updated + unchanged + rejected. */
  processed: 'int',
  added: 'int',
  updated: 'int',
  unchanged: 'int',
  rejected: 'int',
  failure: typed<ImportFailure>('json?'),
  createdAt: 'timestamptz',
  startedAt: 'timestamptz?',
  finishedAt: 'timestamptz?',
});
export type ListImport = RowOf<typeof LIST_IMPORT_ROW>;

export type ImportKey = Pick<ListImport, 'customerId' | 'id'>;

/** Small enough for one message through every proxy, large enough that a gigabyte is a thousand of them. */
export const CHUNK_BYTES_MAX = 1024 * 1024;
/** With chunks of one byte a client could fill the table with rows; so many are enough for the largest file. */
export const CHUNKS_MAX = 20_000;
/** The number of a chunk. */
export const chunkNoInput = z
  .int()
  .min(0)
  .max(CHUNKS_MAX - 1);
/** The limit of file systems. */
const FILE_NAME_MAX = 255;
/** A header is short; longer ones are cut where they are shown. */
const HEADER_MAX = 255;
const VERIFIER_LENGTH_MAX = 64;
/** The limit of columns in a file (csv-reader). */
const MAPPING_ENTRIES_MAX = 2_000;

/** An unfinished upload is deleted after this time. */
export const UPLOAD_HOURS_MAX = 24;

/** PostgreSQL channel on which an import's uid is sent when its progress has changed. */
export const IMPORT_CHANNEL = 'import_progress';

export const startImportInput = z.object({ fileName: optionalLine(FILE_NAME_MAX).default('') });

const mappingInput = z
  .record(z.string().max(HEADER_MAX), z.string().max(HEADER_MAX).nullable())
  .refine(
    (mapping) => Object.keys(mapping).length <= MAPPING_ENTRIES_MAX,
    `may not have more than ${MAPPING_ENTRIES_MAX} entries`,
  );

const importOptions = z.object({
  /** Header (or number) of a column to the tag of a field, EMAIL, STATUS or TAGS; null or empty: ignored. */
  mapping: mappingInput.default({}),
  updateExisting: flag.default(true),
  runAutomations: flag.default(false),
  /** Verify the people that it adds, when it ends. */
  verify: flag.default(false),
  /** Uid of a verification server; absent: the customer's first. */
  verificationServer: z.string().max(VERIFIER_LENGTH_MAX).nullish(),
  /** For `verify`: suppress the addresses that are undeliverable. */
  suppressUndeliverable: flag.default(false),
  /** Added to everybody in the file; several are separated by commas, also in the database. */
  tag: z
    .string()
    .default('')
    .transform((text) => [text])
    .pipe(tagsInput)
    .transform((tags) => tags.join(',')),
});

export const finishImportInput = importOptions.refine(
  ({ verify, suppressUndeliverable }) => verify || !suppressUndeliverable,
  { path: ['undeliverable'], error: 'needs `verify`: without a verification nobody is found undeliverable' },
);

export type FinishImportInput = z.input<typeof finishImportInput>;
export type ColumnMapping = z.output<typeof mappingInput>;

/** Whether the import has not ended yet. */
export function isOpen({ status }: Pick<ListImport, 'status'>): boolean {
  return status === 'uploading' || status === 'queued' || status === 'running';
}

/** People in the file: exact when it has been read, before that estimated from the part that was read; 0 before any. */
export function totalOf({
  status,
  processed,
  bytesProcessed,
  bytesTotal,
}: Pick<ListImport, 'status' | 'processed' | 'bytesProcessed' | 'bytesTotal'>): number {
  if (status === 'done' || bytesProcessed === 0n) return processed;
  return Math.max(processed, Math.round((processed * Number(bytesTotal)) / Number(bytesProcessed)));
}
