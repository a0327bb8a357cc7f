/** A small disk in memory that can be filled: for the database, when its disk is to be full. */
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  /** Leaves no byte free; answers how to give the space back. */
  fill(): Promise<() => Promise<void>>;
  unmount(): void;
}

/** Room for the database, its log and a campaign of some ten thousand. */
const SIZE = '900m';
const PIECE = Buffer.alloc(1_048_576);

/** Mounts it; needs root on Linux. */
export function mountSmallDisk(): SmallDisk {
  if (process.getuid?.() !== 0) throw new Error('Only root can mount a small disk: leave this scenario out.');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder]);
  // The database's own user enters.
  chmodSync(folder, 0o755);
  return {
    folder,
    async fill() {
      const file = path.join(folder, 'filler');
      const handle = openSync(file, 'w');
      try {
        for (;;) writeSync(handle, PIECE);
      } catch {
        // Full.
      } finally {
        closeSync(handle);
      }
      return async () => rmSync(file);
    },
    unmount() {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
