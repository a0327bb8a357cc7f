/** A small disk of its own for tests of what happens when there is no room. Needs root. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterFile } from './after-file.ts';

/** Its folder; it is taken away after the file's last test. */
export function mountSmallDisk(bytes: number): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  afterFile(() => {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
