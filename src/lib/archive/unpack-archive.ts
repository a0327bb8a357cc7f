/** Writes the files of an archive into a new folder, after all of it was checked. */
import { mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ArchiveLimits } from './archive-rules.ts';
import { readArchive } from './read-archive.ts';

interface Unpacking {
  /** Must not be there yet. */
  readonly folder: string;
  readonly limits: ArchiveLimits;
  /** What all paths begin with, and is left out. */
  readonly root: string;
  /** Called before each file; what it throws ends the work. */
  readonly step?: () => void;
}

/** Everything is on disk when it returns. Throws ArchiveError, or the error of the file system; then the folder is gone. */
export async function unpackArchive(archive: Buffer, { folder, limits, root, step }: Unpacking): Promise<void> {
  // The whole archive, to its end, before the first file.
  for await (const _ of readArchive(archive, limits)) step?.();
  await mkdir(folder, { mode: 0o700 });
  try {
    const made = new Set([folder]);
    for await (const { path: name, content } of readArchive(archive, limits)) {
      step?.();
      const file = path.join(folder, name.slice(root.length));
      const parent = path.dirname(file);
      if (!made.has(parent)) await mkdir(parent, { recursive: true, mode: 0o700 });
      made.add(parent);
      await writeDurably(file, content);
    }
    for (const each of made) await syncFolder(each);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function writeDurably(file: string, content: Buffer): Promise<void> {
  // A file that is there already would be another's.
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The names in it are on disk, too. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
