/** Files that are made once and then only read: a secret, a password. */
import { chownSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes the file, readable by its owner only, unless it exists. Completely or not at all: neither a full disk nor a power cut
 * leaves an empty one, and if several processes try, the first one's text stays.
 */
export function makeOnce(file: string, text: string, owner?: { uid: number; gid: number }): void {
  if (existsSync(file)) return;
  const mine = `${file}.${process.pid}`;
  try {
    writeToDisk(mine, text);
    if (owner) chownSync(mine, owner.uid, owner.gid);
    linkSync(mine, file);
    syncFolder(path.dirname(file));
  } catch (error) {
    if (!existsSync(file)) throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

function writeToDisk(file: string, text: string): void {
  const fd = openSync(file, 'w', 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Where a folder cannot be synchronised (Windows), the system takes care of its names. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
