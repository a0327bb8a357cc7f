/** A full disk while a version is staged: the program goes on, and says why it was not staged. Needs root, for a small disk. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startWithParent } from '../support/program.ts';
import { packRelease } from '../support/release-archive.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startReleases } from '../support/upgrade-client.ts';

const DISK_BYTES = 16_000_000;

test.runIf(process.getuid?.() === 0)(
  'a full disk fails the staging, and nothing else',
  async () => {
    const dataDir = mountSmallDisk(DISK_BYTES);
    const release = packRelease({ version: '0.2.0', migrations: {} });
    const releases = await startReleases();
    const { url } = await createTestDatabase();
    const program = await startWithParent({
      ...{ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web', DB_POOL_SIZE: '4' },
      ...releases.settings,
    });
    const stage = () => releases.stage(program, release);
    const full = { state: 'failed', reason: expect.stringMatching(/^The disk is full. Make room/) };
    // Not a byte is free: its status cannot be written either. Then there is room for that, but not for the version.
    const filler = path.join(dataDir, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(DISK_BYTES * 2))).toThrow(/ENOSPC/);
    expect(await stage()).toMatchObject(full);
    rmSync(filler);
    expect(await stage()).toMatchObject(full);
    expect(program.output().match(/is ready at/g)).toHaveLength(1);
    expect((await program.stop()).code).toBe(0);
  },
  300_000,
);
