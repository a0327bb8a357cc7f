/** The noun: the archive of a plugin that was installed, or is being installed. */
import { z } from 'zod';
import { row, typed, type RowOf } from '../../db/row.ts';
import { sha256Input, signatureInput } from '../../lib/archive-proof.ts';
import { URL_LENGTH_MAX } from '../../lib/outbound-request.ts';

/** The first three are under way; the others do not change any more. */
export type PluginPackageState = 'uploading' | 'downloading' | 'checking' | 'ready' | 'failed' | 'cancelled';

/** `current` is used; `waiting` is used from the next activation on; `former` was used before. */
export type PluginPackagePlace = 'current' | 'waiting' | 'former';

export const PLUGIN_PACKAGE_ROW = row({
  id: 'bigint',
  uid: 'text',
  url: 'text?',
  sha256: 'text?',
  signature: 'text?',
  state: typed<PluginPackageState>('text'),
  reason: 'text?',
  sizeBytes: 'bigint',
  digest: 'text?',
  vendor: 'text?',
  name: 'text?',
  version: 'text?',
  place: typed<PluginPackagePlace | null>('text?'),
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
});
export type PluginPackage = RowOf<typeof PLUGIN_PACKAGE_ROW>;

/** An archive; unpacked it may be four times as large. It is held in memory while it is checked. */
export const PACKAGE_BYTES_MAX = 50_000_000;
/** One piece of an upload; the GraphQL entry point accepts no larger message. */
export const PIECE_BYTES_MAX = 1_048_576;
export const PIECES_MAX = 1_000;
/** From the look-up of the name to the last byte. */
export const DOWNLOAD_MS_MAX = 60_000;
/** Uploads that are open at the same time. */
export const OPEN_UPLOADS_MAX = 5;
/** Without a sign of life for so long, what is under way has been given up: its process has ended, or its client is gone. */
export const SILENT_MINUTES_MAX = 10;
/** Rows of packages that are not used any more. */
export const KEPT_DAYS = 30;

export const packageProofInput = z.object({ sha256: sha256Input.nullish(), signature: signatureInput.nullish() });
export const packageUrlInput = packageProofInput.extend({ url: z.string().max(URL_LENGTH_MAX) });
export const packagePieceInput = z.object({
  no: z
    .int()
    .min(0)
    .max(PIECES_MAX - 1),
});
