/** A full disk while a version is staged: the program goes on, and says why it was not staged. Needs root, for a small disk. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { newSigner, sha256Of, startWebServer } from '../support/plugin-archive.ts';
import { startWithParent } from '../support/program.ts';
import { packRelease } from '../support/release-archive.ts';
import { createTestDatabase } from '../support/test-database.ts';

const DISK_BYTES = 16_000_000;

test.runIf(process.getuid?.() === 0)(
  'a full disk fails the staging, and nothing else',
  async () => {
    const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', dataDir]);
    afterFile(() => {
      execFileSync('umount', ['-l', dataDir]);
      rmSync(dataDir, { recursive: true, force: true });
    });
    const signer = newSigner();
    const release = packRelease({ version: '0.2.0', migrations: {} });
    const origin = await startWebServer((_req, res) => void res.end(release));
    const { url } = await createTestDatabase();
    const program = await startWithParent({
      ...{ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web', DB_POOL_SIZE: '4' },
      ...{ OUTBOUND_ALLOW_HOSTS: '127.0.0.1', RELEASE_KEYS: signer.key },
    });
    const ask = async (method: string, where: string, fields?: object) => {
      const headers = { Authorization: `Bearer ${program.token}`, 'Content-Type': 'application/json' };
      const body = fields && JSON.stringify(fields);
      const response = await fetch(`${program.baseUrl}/api/v1${where}`, { method, headers, ...(body ? { body } : {}) });
      return {
        status: response.status,
        body: (await response.json()) as { upgrade: { state: string; reason: string } },
      };
    };
    const proof = { sha256: sha256Of(release), signature: signer.sign(release) };
    const stage = async () => {
      expect(await ask('POST', '/upgrade/run', { url: `${origin}/r`, ...proof })).toMatchObject({ status: 200 });
      for (;;) {
        const { upgrade } = (await ask('GET', '/upgrade')).body;
        if (!['downloading', 'checking', 'preparing'].includes(upgrade.state)) return upgrade;
        await sleep(100);
      }
    };
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
  120_000,
);
