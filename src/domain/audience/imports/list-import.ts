/**
 * One file of people on its way into a list: its states, what is known of it, its limits. An import is uploaded in
 * chunks, planned when the upload is complete, and run by a job that commits people and progress together.
 */
import { z } from 'zod';
import { flag, optionalLine } from '../../../lib/text.ts';
import { tagsInput } from '../subscriber.ts';
import type { ImportFailure, ImportNotice } from './import-report.ts';

/** `uploading` → `queued` → `running` → `done`; from each of the first three to `cancelled` or `failed`. */
export type ImportStatus = 'uploading' | 'queued' | 'running' | 'done' | 'cancelled' | 'failed';

/** What a column of the file gives: one of these, or the tag of a field. */
export const SPECIAL_TARGETS = ['EMAIL', 'STATUS', 'TAGS'] as const;

export interface ImportColumn {
  readonly header: string;
  /** A field's tag, `EMAIL`, `STATUS`, `TAGS`, or null for a column that is not taken. */
  readonly target: string | null;
}

export interface ListImport {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly uid: string;
  readonly listId: bigint;
  readonly fileName: string;
  readonly status: ImportStatus;
  readonly encoding: string | null;
  readonly separator: string | null;
  readonly hasHeader: boolean;
  readonly columns: readonly ImportColumn[];
  readonly notices: readonly ImportNotice[];
  readonly updateExisting: boolean;
  readonly tag: string | null;
  readonly bytesTotal: bigint;
  /** What follows them is not written yet; what stands before the people counts as processed from the start. */
  readonly bytesProcessed: bigint;
  readonly linesProcessed: number;
  /** added + updated + unchanged + rejected. */
  readonly processed: number;
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly failure: ImportFailure | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export type ImportKey = Pick<ListImport, 'customerId' | 'id'>;

/** Small enough for one message through every proxy, large enough that a gigabyte is a thousand of them. */
export const CHUNK_BYTES_MAX = 1024 * 1024;
/** With chunks of one byte each somebody could fill the table with rows; this many still make the largest file. */
export const CHUNKS_MAX = 20_000;
/** What file systems allow. */
const FILE_NAME_MAX = 255;
/** A header is a heading, not a text; longer ones are cut where they are shown. */
const HEADER_MAX = 255;
/** As many columns as a file may have (csv-reader). */
const MAPPING_ENTRIES_MAX = 2_000;

/** Upload that nobody finishes is dropped after this time. */
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

export const finishImportInput = z.object({
  /** Header (or number) of a column to the tag of a field, EMAIL, STATUS or TAGS; null or empty: not taken. */
  mapping: mappingInput.default({}),
  updateExisting: flag.default(true),
  /** Given to everybody in the file; several are separated by commas, here and where it is kept. */
  tag: z
    .string()
    .default('')
    .transform((text) => [text])
    .pipe(tagsInput)
    .transform((tags) => tags.join(',')),
});

export type FinishImportInput = z.input<typeof finishImportInput>;
export type ColumnMapping = z.output<typeof mappingInput>;

/** Whether anything can still happen to the import. */
export function isOpen({ status }: Pick<ListImport, 'status'>): boolean {
  return status === 'uploading' || status === 'queued' || status === 'running';
}

/** People in the file: exact when it has been read, before that estimated from the part that has; 0 while nothing has. */
export function totalOf({
  status,
  processed,
  bytesProcessed,
  bytesTotal,
}: Pick<ListImport, 'status' | 'processed' | 'bytesProcessed' | 'bytesTotal'>): number {
  if (status === 'done' || bytesProcessed === 0n) return processed;
  return Math.max(processed, Math.round((processed * Number(bytesTotal)) / Number(bytesProcessed)));
}
