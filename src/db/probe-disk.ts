/** Whether a disk that was full has space again. */
import { randomBytes } from 'node:crypto';
import { sql, type Database } from './database.ts';
import { recordDiskSpace } from './full-disk.ts';

/** Random, so it cannot be compressed, and more than the free space that a table may have left. */
const PROBE_BYTES = 256 * 1_024;

/** Writes as much as a busy moment needs, and rolls it back. Returns whether there is space again. */
export async function probeDisk(database: Database): Promise<boolean> {
  const rollback = new Error('rollback');
  try {
    await database.transaction(async (tx) => {
      await tx.execute(sql`INSERT INTO hot.disk_probe (filler) VALUES (${randomBytes(PROBE_BYTES)})`);
      throw rollback;
    });
  } catch (error) {
    if (error !== rollback) return false;
  }
  recordDiskSpace();
  // Frees what the probes left behind; the table is never read.
  await database.execute(sql`TRUNCATE hot.disk_probe`).catch(() => undefined);
  return true;
}
