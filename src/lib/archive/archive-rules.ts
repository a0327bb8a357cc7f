/**
 * What an archive from outside may hold (hard cases F11, F12): plain files and folders below one folder, each once, within limits. Readers
 * of formats ask this class before they unpack a byte.
 */

/** Thrown with a sentence that begins with the fault: the archive is refused as a whole. */
export class ArchiveError extends Error {}

export interface ArchiveLimits {
  /** Files and folders. */
  readonly entriesMax: number;
  /** All files together, unpacked. */
  readonly bytesMax: number;
  /** One file, unpacked: it is held in memory. */
  readonly fileBytesMax: number;
}

/** A file, complete and checked. */
export interface ArchivedFile {
  /** Parts are separated by slashes; none is `.` or `..`. */
  readonly path: string;
  readonly content: Buffer;
}

/** Source code packs ten to one at most. */
const RATIO_MAX = 100;
/** Below this no ratio does harm, and small files of one letter have a large one. */
const RATIO_FROM_BYTES = 1_048_576;
const PATH_BYTES_MAX = 400;
/** As Linux and macOS have it. */
const PART_BYTES_MAX = 255;
const DEPTH_MAX = 30;

// Control characters, those that change the reading direction, and what is special in a path on some system.
const FORBIDDEN = /[\p{C}\p{Zl}\p{Zp}\\:*?"<>|]/u;

interface Known {
  readonly path: string;
  readonly isFolder: boolean;
  /** It has an entry; false: a folder of which only content was seen. */
  isEntry: boolean;
}

/** The rules for one archive of `packedBytes`. Each method throws ArchiveError. */
export class ArchiveRules {
  readonly #limits: ArchiveLimits;
  readonly #packedBytes: number;
  readonly #known = new Map<string, Known>();
  #entries = 0;
  #bytes = 0;

  constructor(limits: ArchiveLimits, packedBytes: number) {
    this.#limits = limits;
    this.#packedBytes = packedBytes;
  }

  /** Before the names are read. */
  countEntries(entries: number): void {
    if (entries > this.#limits.entriesMax)
      throw new ArchiveError(`It has more than ${this.#limits.entriesMax} files and folders.`);
  }

  /** Before the file is unpacked; `packedBytes` where the format says it for each file. */
  enterFile(path: string, size: number, packedBytes?: number): void {
    this.#enter(path, false);
    if (size > this.#limits.fileBytesMax)
      throw new ArchiveError(`The file ${shown(path)} is larger than ${megabytes(this.#limits.fileBytesMax)}.`);
    if (packedBytes !== undefined) refuseRatio(size, packedBytes);
    this.#bytes += size;
    this.countBytes(this.#bytes);
  }

  enterFolder(path: string): void {
    this.#enter(path, true);
  }

  /** All unpacked bytes so far. */
  countBytes(bytes: number): void {
    if (bytes > this.#limits.bytesMax)
      throw new ArchiveError(`It holds more than ${megabytes(this.#limits.bytesMax)} unpacked.`);
    refuseRatio(bytes, this.#packedBytes);
  }

  #enter(path: string, isFolder: boolean): void {
    this.countEntries(++this.#entries);
    const parts = partsOf(path);
    for (let depth = 1; depth < parts.length; depth++) this.#note(parts.slice(0, depth).join('/'), true, false);
    this.#note(path, isFolder, true);
  }

  /** On some systems names that differ in case, or in how an accent is written, are one file. */
  #note(path: string, isFolder: boolean, isEntry: boolean): void {
    const key = path.normalize('NFKC').toLowerCase();
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, { path, isFolder, isEntry });
      return;
    }
    if (known.path !== path)
      throw new ArchiveError(`The names ${shown(known.path)} and ${shown(path)} are one file on some systems.`);
    if (!known.isFolder || !isFolder || (known.isEntry && isEntry))
      throw new ArchiveError(`The name ${shown(path)} is there twice.`);
    known.isEntry ||= isEntry;
  }
}

function refuseRatio(bytes: number, packedBytes: number): void {
  if (bytes > RATIO_FROM_BYTES && bytes > packedBytes * RATIO_MAX)
    throw new ArchiveError(`It is packed more than ${RATIO_MAX} to one, as no plugin or program is.`);
}

function partsOf(path: string): readonly string[] {
  const parts = path.split('/');
  const isLong = Buffer.byteLength(path) > PATH_BYTES_MAX || parts.length > DEPTH_MAX;
  if (isLong || parts.some((part) => Buffer.byteLength(part) > PART_BYTES_MAX))
    throw new ArchiveError(`The name ${shown(path)} is too long.`);
  if (FORBIDDEN.test(path) || parts.some((part) => /^(|\.|\.\.|.*[. ])$/.test(part)))
    throw new ArchiveError(`The name ${shown(path)} is not allowed: it could lead out of the folder.`);
  return parts;
}

/** For sentences: hostile names have characters that terminals obey. */
export function shown(path: string): string {
  const clean = path.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  return JSON.stringify(clean.length > 80 ? `${clean.slice(0, 80)}…` : clean);
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1_000_000)} MB`;
}

/** A name of an archive as text; only UTF-8 is the same on every system. */
export function nameOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ArchiveError('A name in it is not UTF-8.');
  }
}
