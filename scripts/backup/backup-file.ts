/**
 * The form of a backup file: two lines of text, then a Zstandard stream of frames. The first line names the form, the second is
 * JSON and says what is inside. A frame is a letter, the length of its content (four bytes) and the content:
 *   T  JSON: a table begins, with its columns
 *   D  bytes of PostgreSQL's COPY in text form
 *   E  JSON: the end, with the rows of each table, the sequences, and the SHA-256 of everything before this frame
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { messageOf } from '../../src/lib/errors.ts';

const FORM = 'mailwright-backup 1';
/** A header names all migrations: some kilobytes. */
const HEADER_BYTES_MAX = 1_048_576;
/** A COPY row is one message of the server; it is never larger than a field of PostgreSQL (1 GB), and ours are far smaller. */
const FRAME_BYTES_MAX = 1_100_000_000;
const FRAME_HEAD_BYTES = 5;
const NEW_LINE = 10;
/** Larger than Node's 16 KiB: fewer steps between threads. */
const CHUNK_BYTES = 1_048_576;

const headerKind = z.object({
  madeAt: z.iso.datetime(),
  version: z.string(),
  serverVersion: z.string(),
  migrations: z.array(z.string()),
  secretFingerprint: z.string().nullable(),
  /** Whether tables of plugins are in it; the first version left them out. */
  hasPluginTables: z.boolean().default(false),
});
export type BackupHeader = z.infer<typeof headerKind>;

/** `vendor/name` of the plugin that something belongs to; absent: it is the product's. */
const ofPlugin = { plugin: z.string().optional() };

const tableKind = z.object({ schema: z.string(), name: z.string(), columns: z.array(z.string()), ...ofPlugin });
export type BackupTable = z.infer<typeof tableKind>;

const sequenceKind = z.object({ schema: z.string(), name: z.string(), lastValue: z.string(), ...ofPlugin });
export type BackupSequence = z.infer<typeof sequenceKind>;

const endKind = z.object({
  tables: z.array(z.object({ table: z.string(), rows: z.int() })),
  sequences: z.array(sequenceKind),
  sha256: z.string(),
});
export type BackupEnd = Omit<z.infer<typeof endKind>, 'sha256'>;

/** What a backup consists of, in order. */
export type BackupPart =
  | { readonly kind: 'table'; readonly table: BackupTable }
  | { readonly kind: 'data'; readonly bytes: Buffer }
  | { readonly kind: 'end'; readonly end: BackupEnd };

/** Writes a new file that only its owner may read, and waits until it is on the disk. Fails when there is such a file. */
export async function writeBackupFile(
  file: string,
  { header, parts, signal }: { header: BackupHeader; parts: AsyncIterable<BackupPart>; signal: AbortSignal },
): Promise<void> {
  const head = Buffer.from(`${FORM}\n${JSON.stringify(header)}\n`);
  const stream = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  stream.write(head);
  const compressor = createZstdCompress({
    chunkSize: CHUNK_BYTES,
    params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
  });
  await pipeline(framesOf(head, parts), compressor, stream, { signal });
}

async function* framesOf(head: Buffer, parts: AsyncIterable<BackupPart>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256').update(head);
  for await (const part of parts) {
    if (part.kind === 'end') {
      const end = { ...part.end, sha256: hash.copy().digest('hex') };
      yield* frame('E', Buffer.from(JSON.stringify(end)));
      continue;
    }
    const [letter, bytes] = part.kind === 'data' ? ['D', part.bytes] : ['T', Buffer.from(JSON.stringify(part.table))];
    for (const piece of frame(letter, bytes)) {
      hash.update(piece);
      yield piece;
    }
  }
}

function frame(letter: string, bytes: Buffer): [Buffer, Buffer] {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.write(letter, 'latin1');
  head.writeUInt32BE(bytes.length, 1);
  return [head, bytes];
}

/** The second line of a backup. Throws a sentence when the file is none. */
export async function readHeader(file: string): Promise<{ header: BackupHeader; head: Buffer }> {
  const handle = await open(file);
  try {
    const buffer = Buffer.alloc(HEADER_BYTES_MAX);
    const { bytesRead } = await handle.read(buffer, 0, HEADER_BYTES_MAX, 0);
    const first = buffer.indexOf(NEW_LINE);
    const second = buffer.indexOf(NEW_LINE, first + 1);
    if (buffer.subarray(0, Math.max(first, 0)).toString() !== FORM || second < 0 || second >= bytesRead)
      throw new Error(`${file} is no backup of Mailwright, or of a version with another form of backups.`);
    const header = headerKind.parse(JSON.parse(buffer.subarray(first + 1, second).toString()));
    return { header, head: buffer.subarray(0, second + 1) };
  } finally {
    await handle.close();
  }
}

/** The parts of a backup. Throws when the file is damaged or cut short: at the latest after the last part. */
export async function* readParts(file: string, signal: AbortSignal): AsyncGenerator<BackupPart> {
  const { head } = await readHeader(file);
  const hash = createHash('sha256').update(head);
  let isWhole = false;
  try {
    for await (const { letter, bytes, raw } of readFrames(file, { start: head.length, signal })) {
      if (isWhole) throw new Error('there is something behind its end');
      if (letter === 'E') {
        const { sha256, ...end } = endKind.parse(JSON.parse(bytes.toString()));
        if (sha256 !== hash.digest('hex')) throw new Error('its checksum is wrong');
        isWhole = true;
        yield { kind: 'end', end };
        continue;
      }
      hash.update(raw).update(bytes);
      yield letter === 'D'
        ? { kind: 'data', bytes }
        : { kind: 'table', table: tableKind.parse(JSON.parse(bytes.toString())) };
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new DamagedBackup(file, messageOf(error), { cause: error });
  }
  if (!isWhole) throw new DamagedBackup(file, 'it is cut short');
}

export class DamagedBackup extends Error {
  constructor(file: string, fault: string, options?: ErrorOptions) {
    super(`The backup ${file} is damaged: ${fault}.`, options);
    this.name = 'DamagedBackup';
  }
}

interface Frame {
  readonly letter: string;
  readonly bytes: Buffer;
  readonly raw: Buffer;
}

async function* readFrames(
  file: string,
  { start, signal }: { start: number; signal: AbortSignal },
): AsyncGenerator<Frame> {
  const decompressor = createZstdDecompress({ chunkSize: CHUNK_BYTES });
  const source = createReadStream(file, { start });
  const piping = pipeline(source, decompressor, { signal, end: true }).catch((error: unknown) => {
    decompressor.destroy(error instanceof Error ? error : new Error(messageOf(error)));
  });
  let waiting: Buffer[] = [];
  let size = 0;
  let needed = FRAME_HEAD_BYTES;
  for await (const chunk of decompressor) {
    if (!Buffer.isBuffer(chunk)) continue;
    waiting.push(chunk);
    size += chunk.length;
    if (size < needed) continue;
    let rest = Buffer.concat(waiting);
    for (needed = frameBytes(rest); rest.length >= needed; needed = frameBytes(rest)) {
      const raw = rest.subarray(0, FRAME_HEAD_BYTES);
      yield { letter: raw.toString('latin1', 0, 1), raw, bytes: rest.subarray(FRAME_HEAD_BYTES, needed) };
      rest = rest.subarray(needed);
    }
    waiting = [rest];
    size = rest.length;
  }
  await piping;
  if (size > 0) throw new Error('it is cut short');
}

/** The bytes of the frame at the beginning of `rest`; of its head as long as that is not there. */
function frameBytes(rest: Buffer): number {
  if (rest.length < FRAME_HEAD_BYTES) return FRAME_HEAD_BYTES;
  const length = rest.readUInt32BE(1);
  if (length > FRAME_BYTES_MAX) throw new Error('a part of it is too long');
  return FRAME_HEAD_BYTES + length;
}

/** Reads the whole file and checks its checksum and the rows of each table. Returns how many rows there are. */
export async function verifyBackup(file: string, signal: AbortSignal): Promise<number> {
  const counted = new Map<string, number>();
  let table = '';
  let rows = 0;
  for await (const part of readParts(file, signal)) {
    if (part.kind === 'table') counted.set((table = `${part.table.schema}.${part.table.name}`), 0);
    else if (part.kind === 'data') counted.set(table, (counted.get(table) ?? 0) + linesIn(part.bytes));
    else {
      const wrong = part.end.tables.find((it) => counted.get(it.table) !== it.rows);
      if (wrong) throw new DamagedBackup(file, `${wrong.table} has ${counted.get(wrong.table)} of ${wrong.rows} rows`);
      rows = part.end.tables.reduce((sum, it) => sum + it.rows, 0);
    }
  }
  return rows;
}

/** In COPY's text form every row ends with a new line, and no value contains one. */
export function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, at + 1)) lines += 1;
  return lines;
}
