/**
 * Reads zip files (APPNOTE 6.3) strictly: the directory, the header of each file and its content must say the same. What the format allows
 * besides plain files (encryption, parts, files over 4 GB, links) is refused, so no two readers can see different files in it.
 */
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { ArchiveError, nameOf, shown, type ArchivedFile, type ArchiveRules } from './archive-rules.ts';

const END = 0x06054b50;
const END_BYTES = 22;
const COMMENT_BYTES_MAX = 65_535;
const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_ENTRY_BYTES = 46;
const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
/** Bits of the flags. */
const HAS_DESCRIPTOR = 0x0008;
const IS_UTF8 = 0x0800;
/** Sizes after the content, level of compression, UTF-8. All others change how content or names are read. */
const FLAGS_ALLOWED = HAS_DESCRIPTOR | IS_UTF8 | 0x0006;
const STORED = 0;
const DEFLATED = 8;
/** Extra fields that would give another name or size. */
const EXTRA_REFUSED = new Set([0x0001, 0x7075]);
const UNIX_TYPE = 0xf000;
const UNIX_FILE = 0x8000;
const UNIX_FOLDER = 0x4000;

interface Entry {
  readonly path: string;
  readonly isFolder: boolean;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly size: number;
  readonly offset: number;
  readonly name: Buffer;
}

interface Unpacked {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}
const inflate = promisify(
  (packed: Buffer, options: zlib.ZlibOptions, done: (error: Error | null, result: Unpacked) => void) =>
    // With `info` Node hands over both, which its types do not say.
    void zlib.inflateRaw(packed, { ...options, info: true }, (error, result: unknown) =>
      isUnpacked(result) ? done(error, result) : done(error ?? new Error('not unpacked'), noneUnpacked),
    ),
);
const noneUnpacked: Unpacked = { buffer: Buffer.alloc(0), engine: { bytesWritten: 0 } };

/** Yields the files of the zip, after all headers were checked. Throws ArchiveError. */
export async function* readZip(zip: Buffer, rules: ArchiveRules): AsyncGenerator<ArchivedFile> {
  const { entries, start } = directoryOf(zip, rules);
  const places = entries.map((entry) => ({ entry, ...placeOf(zip, entry, start) }));
  let end = 0;
  for (const place of places.toSorted((one, other) => one.entry.offset - other.entry.offset)) {
    if (place.entry.offset < end) throw new ArchiveError('Files in it overlap.');
    end = place.to;
  }
  for (const { entry, from, to } of places)
    if (!entry.isFolder) yield { path: entry.path, content: await contentOf(zip.subarray(from, to), entry) };
}

function directoryOf(zip: Buffer, rules: ArchiveRules) {
  const at = endOf(zip);
  const count = zip.readUInt16LE(at + 10);
  const size = zip.readUInt32LE(at + 12);
  const start = zip.readUInt32LE(at + 16);
  const isOneDisk = zip.readUInt16LE(at + 4) === 0 && zip.readUInt16LE(at + 6) === 0;
  if (!isOneDisk || zip.readUInt16LE(at + 8) !== count || start + size !== at) throw damaged();
  rules.countEntries(count);
  const entries: Entry[] = [];
  let place = start;
  while (place < at) {
    const { entry, next } = readEntry(zip, place, at);
    if (entry.isFolder) rules.enterFolder(entry.path);
    else rules.enterFile(entry.path, entry.size, entry.packedBytes);
    entries.push(entry);
    place = next;
  }
  if (place !== at || entries.length !== count) throw damaged();
  return { entries, start };
}

/** The end record; its comment must reach exactly to the end of the file. */
function endOf(zip: Buffer): number {
  for (let at = zip.length - END_BYTES; at >= Math.max(0, zip.length - END_BYTES - COMMENT_BYTES_MAX); at--)
    if (zip.readUInt32LE(at) === END && at + END_BYTES + zip.readUInt16LE(at + 20) === zip.length) return at;
  throw damaged();
}

function readEntry(zip: Buffer, at: number, end: number): { readonly entry: Entry; readonly next: number } {
  if (at + DIRECTORY_ENTRY_BYTES > end || zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw damaged();
  const nameBytes = zip.readUInt16LE(at + 28);
  const extraBytes = zip.readUInt16LE(at + 30);
  const next = at + DIRECTORY_ENTRY_BYTES + nameBytes + extraBytes + zip.readUInt16LE(at + 32);
  if (next > end) throw damaged();
  const name = zip.subarray(at + DIRECTORY_ENTRY_BYTES, at + DIRECTORY_ENTRY_BYTES + nameBytes);
  const flags = zip.readUInt16LE(at + 8);
  const text = textOf(name, flags);
  const isFolder = text.endsWith('/');
  const entry: Entry = {
    ...{ name, flags, isFolder, path: isFolder ? text.slice(0, -1) : text },
    method: zip.readUInt16LE(at + 10),
    crc: zip.readUInt32LE(at + 16),
    packedBytes: zip.readUInt32LE(at + 20),
    size: zip.readUInt32LE(at + 24),
    offset: zip.readUInt32LE(at + 42),
  };
  refuseUnusual(entry, zip.readUInt32LE(at + 38));
  if (zip.readUInt16LE(at + 34) !== 0) throw damaged();
  refuseExtra(
    zip.subarray(at + DIRECTORY_ENTRY_BYTES + nameBytes, at + DIRECTORY_ENTRY_BYTES + nameBytes + extraBytes),
  );
  return { entry, next };
}

/** Without the flag a name is in a code page that readers guess. */
function textOf(name: Buffer, flags: number): string {
  if ((flags & IS_UTF8) === 0 && name.some((byte) => byte >= 0x80))
    throw new ArchiveError('A name in it is not UTF-8.');
  return nameOf(name);
}

function refuseUnusual({ path, isFolder, flags, method, packedBytes, size }: Entry, attributes: number): void {
  const type = (attributes >>> 16) & UNIX_TYPE;
  if (type !== 0 && type !== (isFolder ? UNIX_FOLDER : UNIX_FILE))
    throw new ArchiveError(`${shown(path)} is a link, a device or no plain file.`);
  if ((flags & ~FLAGS_ALLOWED) !== 0) throw new ArchiveError(`The file ${shown(path)} is encrypted or unusual.`);
  if (method !== STORED && method !== DEFLATED)
    throw new ArchiveError(`The file ${shown(path)} is packed in a way that is not known here.`);
  if ((method === STORED && packedBytes !== size) || (isFolder && size !== 0)) throw lying(path);
}

function refuseExtra(extra: Buffer): void {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (EXTRA_REFUSED.has(extra.readUInt16LE(at)))
      throw new ArchiveError('It has fields of very large zip files, or second names.');
}

/** Where the content is, by the header before it, which must agree with the directory. */
function placeOf(zip: Buffer, entry: Entry, directory: number): { readonly from: number; readonly to: number } {
  const { offset, name, flags, method, crc, packedBytes, size, path } = entry;
  if (offset + LOCAL_HEADER_BYTES > directory || zip.readUInt32LE(offset) !== LOCAL_HEADER) throw damaged();
  const nameBytes = zip.readUInt16LE(offset + 26);
  const extraBytes = zip.readUInt16LE(offset + 28);
  const from = offset + LOCAL_HEADER_BYTES + nameBytes + extraBytes;
  const to = from + packedBytes;
  if (to > directory) throw damaged();
  const nameEnd = offset + LOCAL_HEADER_BYTES + nameBytes;
  const isSame =
    zip.readUInt16LE(offset + 6) === flags &&
    zip.readUInt16LE(offset + 8) === method &&
    zip.subarray(offset + LOCAL_HEADER_BYTES, nameEnd).equals(name);
  const figures = [14, 18, 22].map((place) => zip.readUInt32LE(offset + place));
  const isLater = (flags & HAS_DESCRIPTOR) !== 0 && figures.every((figure) => figure === 0);
  const isEqual = figures[0] === crc && figures[1] === packedBytes && figures[2] === size;
  if (!isSame || (!isLater && !isEqual)) throw lying(path);
  refuseExtra(zip.subarray(nameEnd, from));
  return { from, to };
}

async function contentOf(packed: Buffer, { path, method, size, crc }: Entry): Promise<Buffer> {
  const content = method === STORED ? packed : await unpacked(packed, size, path);
  if (content.length !== size || zlib.crc32(content) !== crc) throw lying(path);
  return content;
}

async function unpacked(packed: Buffer, size: number, path: string): Promise<Buffer> {
  // Node refuses a limit of 0.
  const result = await inflate(packed, { maxOutputLength: Math.max(1, size) }).catch(() => undefined);
  if (result?.engine.bytesWritten !== packed.length) throw lying(path);
  return result.buffer;
}

function isUnpacked(result: unknown): result is Unpacked {
  return typeof result === 'object' && result !== null && 'buffer' in result && 'engine' in result;
}

function damaged(): ArchiveError {
  return new ArchiveError('It is damaged, or no complete zip file.');
}

function lying(path: string): ArchiveError {
  return new ArchiveError(`The file ${shown(path)} is not what the headers of the archive say.`);
}
