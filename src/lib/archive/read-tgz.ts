/**
 * Reads tgz files strictly: gzip, within it tar (POSIX ustar and pax, and GNU's long names). It is unpacked as a stream and counted, so a
 * bomb is cut at the limit; links, devices and holes are refused.
 */
import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { ArchiveError, nameOf, shown, type ArchivedFile, type ArchiveRules } from './archive-rules.ts';
import { ByteStream } from './byte-stream.ts';

const BLOCK = 512;
/** Zeros after the last file: programs fill up to blocks of 10 KB, or of more for tapes. */
const END_BYTES_MAX = 1_048_576;
/** Fewer and larger pieces than Node's usual 16 KB. */
const CHUNK_BYTES = 262_144;
/** A record with a long name. */
const RECORD_BYTES_MAX = 65_536;
/** Attributes of pax that change which file it is, or how much of it there is. */
const PAX_REFUSED = /^(size|linkpath|GNU\.sparse\..*)$/;
/** Its own attributes, of which there are many. */
const PAX_FILE = 'x';
/** Attributes of all files, as `git archive` writes them. */
const PAX_ALL = 'g';
const GNU_LONG_NAME = 'L';
const FILE = new Set(['0', '\0']);
const FOLDER = '5';

interface Header {
  readonly type: string;
  readonly name: string;
  readonly size: number;
}

/** Yields the files of the tgz. Throws ArchiveError. */
export async function* readTgz(tgz: Buffer, rules: ArchiveRules): AsyncGenerator<ArchivedFile> {
  const unpacking = Readable.from([tgz], { objectMode: false }).pipe(zlib.createGunzip({ chunkSize: CHUNK_BYTES }));
  const stream = new ByteStream(unpacking, (bytes) => rules.countBytes(bytes));
  try {
    yield* readTar(stream, rules);
  } catch (error) {
    throw error instanceof ArchiveError ? error : damaged();
  } finally {
    unpacking.destroy();
  }
}

async function* readTar(stream: ByteStream, rules: ArchiveRules): AsyncGenerator<ArchivedFile> {
  let longName: string | undefined;
  for (;;) {
    const block = await stream.read(BLOCK);
    if (block === undefined) throw damaged();
    if (block.every((byte) => byte === 0)) break;
    const { type, name, size } = headerOf(block);
    if (type === PAX_FILE || type === PAX_ALL || type === GNU_LONG_NAME) {
      longName = nameIn(type, await recordOf(stream, size)) ?? longName;
      continue;
    }
    const path = pathOf(longName ?? name);
    longName = undefined;
    if (type === FOLDER) {
      if (size !== 0) throw damaged();
      if (path !== '') rules.enterFolder(path);
    } else if (FILE.has(type)) {
      rules.enterFile(path, size);
      yield { path, content: await contentOf(stream, size) };
    } else throw new ArchiveError(`${shown(path)} is a link, a device or no plain file.`);
  }
  if (longName !== undefined || !(await stream.endsWithZeros(END_BYTES_MAX))) throw damaged();
}

function headerOf(block: Buffer): Header {
  let sum = 0;
  // The checksum counts its own field as spaces.
  block.forEach((byte, at) => (sum += at >= 148 && at < 156 ? 32 : byte));
  const magic = block.toString('latin1', 257, 262);
  if (octal(block, 148, 8) !== sum || magic !== 'ustar') throw damaged();
  // GNU has times where POSIX has the beginning of the name.
  const isPosix = block[262] === 0;
  const prefix = isPosix ? textAt(block, 345, 155) : '';
  const name = textAt(block, 0, 100);
  return {
    type: String.fromCharCode(block[156] ?? 0),
    name: prefix === '' ? name : `${prefix}/${name}`,
    size: octal(block, 124, 12),
  };
}

function textAt(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return nameOf(end === -1 ? field : field.subarray(0, end));
}

function octal(block: Buffer, at: number, length: number): number {
  const text = block
    .toString('latin1', at, at + length)
    .replaceAll('\0', ' ')
    .trim();
  if (!/^[0-7]{1,11}$/.test(text)) throw damaged();
  return Number.parseInt(text, 8);
}

async function recordOf(stream: ByteStream, size: number): Promise<Buffer> {
  if (size > RECORD_BYTES_MAX) throw damaged();
  return contentOf(stream, size);
}

async function contentOf(stream: ByteStream, size: number): Promise<Buffer> {
  const content = await stream.read(size);
  const rest = (BLOCK - (size % BLOCK)) % BLOCK;
  if (content === undefined || (await stream.read(rest)) === undefined) throw damaged();
  return content;
}

function nameIn(type: string, record: Buffer): string | undefined {
  if (type === GNU_LONG_NAME) return textAt(record, 0, record.length);
  const attributes = paxAttributes(record);
  const refused = [...attributes.keys()].find((key) => PAX_REFUSED.test(key));
  if (refused !== undefined || (type === PAX_ALL && attributes.has('path')))
    throw new ArchiveError('It has attributes that change which files it holds.');
  return attributes.get('path');
}

/** Lines of the form `<length> <key>=<value>\n`. */
function paxAttributes(record: Buffer): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (let at = 0; at < record.length;) {
    const space = record.indexOf(32, at);
    const length = space === -1 ? Number.NaN : Number(record.toString('latin1', at, space));
    const line = record.subarray(space + 1, at + length - 1);
    const equals = line.indexOf(61);
    if (!(length > 0) || at + length > record.length || record[at + length - 1] !== 10 || equals < 1) throw damaged();
    attributes.set(nameOf(line.subarray(0, equals)), nameOf(line.subarray(equals + 1)));
    at += length;
  }
  return attributes;
}

/** `tar` writes `./` before all names when it packs a folder from within. */
function pathOf(name: string): string {
  return name.replace(/^\.\//, '').replace(/\/$/, '');
}

function damaged(): ArchiveError {
  return new ArchiveError('It is damaged, or no complete tgz file.');
}
