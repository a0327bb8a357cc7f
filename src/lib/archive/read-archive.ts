/** Reads a zip or tgz from outside. Nothing is written here: `unpackArchive` checks all of it before it writes the first byte. */
import { ArchiveError, ArchiveRules, type ArchivedFile, type ArchiveLimits } from './archive-rules.ts';
import { readTgz } from './read-tgz.ts';
import { readZip } from './read-zip.ts';

/** Yields its files, the format by the first bytes. Throws ArchiveError; what was yielded before is not to be trusted then. */
export function readArchive(archive: Buffer, limits: ArchiveLimits): AsyncGenerator<ArchivedFile> {
  const rules = new ArchiveRules(limits, archive.length);
  if (archive.subarray(0, 2).equals(ZIP)) return readZip(archive, rules);
  if (archive.subarray(0, 2).equals(GZIP)) return readTgz(archive, rules);
  throw new ArchiveError('It is neither a zip nor a tgz file.');
}

const ZIP = Buffer.from('PK');
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * The folder in which the wanted file is: at the top, or in the one folder that holds everything, as `npm pack` and others make it.
 * Undefined: it is in neither.
 */
export function rootWith(file: string, paths: readonly string[]): string | undefined {
  if (paths.includes(file)) return '';
  const top = `${paths[0]?.split('/')[0]}/`;
  return paths.every((path) => path.startsWith(top)) && paths.includes(top + file) ? top : undefined;
}
