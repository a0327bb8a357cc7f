/** A full disk while a plugin's package is unpacked: it says what to do, leaves nothing half, and works when there is room. Needs root. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pluginArchive, sha256Of, startWebServer } from '../support/plugin-archive.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { startProgram } from '../support/program.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { createTestDatabase } from '../support/test-database.ts';

const DISK_BYTES = 16_000_000;
/** Together a third of the disk; each fits where the whole does not. */
const FILES = Array.from({ length: 5 }, (_, no) => ({
  name: `package/data/${no}.bin`,
  content: randomBytes(1_000_000),
}));

test.runIf(process.getuid?.() === 0)(
  'a full disk fails an installation, and nothing else',
  async () => {
    const dataDir = mountSmallDisk(DISK_BYTES);
    let served = pluginArchive('acme/large');
    const origin = await startWebServer((_req, res) => void res.end(served));
    const { url } = await createTestDatabase();
    const program = await startProgram({
      ...{ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web', DB_POOL_SIZE: '4', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' },
    });
    const client = pluginClient(program);
    const ask = async (where: string, fields: object) => {
      const headers = { Authorization: `Bearer ${program.token}`, 'Content-Type': 'application/json' };
      const response = await fetch(`${program.baseUrl}/api/v1${where}`, {
        ...{ method: 'POST', headers, body: JSON.stringify(fields) },
      });
      return { status: response.status, body: await response.json() };
    };
    const install = (archive: Buffer) => {
      served = archive;
      return ask('/plugins/install', { url: `${origin}/plugin`, sha256: sha256Of(archive) });
    };
    const plugins = path.join(dataDir, 'plugins');
    const versions = () => readdirSync(path.join(plugins, '.versions/acme/large'));
    const halves = () =>
      readdirSync(plugins, { recursive: true })
        .map(String)
        .filter((name) => /incoming|data/.test(name));

    expect(await install(served)).toMatchObject({ status: 201 });
    expect(await client.activate('acme/large')).toMatchObject({ status: 'ACTIVE', version: '1.0.0' });
    const [link, before] = [readlinkSync(path.join(plugins, 'acme/large')), versions()];

    const large = pluginArchive('acme/large', { version: '2.0.0', more: FILES });
    const filler = path.join(dataDir, 'filler');
    // Room for two of the files; then not even for the folder.
    for (const room of [2_500_000, 0]) {
      writeFileSync(filler, Buffer.alloc(DISK_BYTES - room - 1_000_000));
      if (room === 0) expect(() => writeFileSync(`${filler}-2`, Buffer.alloc(DISK_BYTES))).toThrow(/ENOSPC/);
      expect(await install(large), String(room)).toMatchObject({
        status: 422,
        body: { errors: { url: ['The disk is full. Make room, then install again.'] } },
      });
      expect({ half: halves(), versions: versions() }).toEqual({ half: [], versions: before });
      expect(readlinkSync(path.join(plugins, 'acme/large'))).toBe(link);
      await client.discover();
      expect(await client.plugin('acme/large')).toMatchObject({ status: 'ACTIVE', version: '1.0.0', isLive: true });
    }
    rmSync(filler);
    rmSync(`${filler}-2`);
    expect(await install(large)).toMatchObject({ status: 201, body: { package: { place: 'waiting' } } });
    expect(await client.activate('acme/large')).toMatchObject({ status: 'ACTIVE', version: '2.0.0', isLive: true });
    expect(program.output().match(/is ready at/g)).toHaveLength(1);
    await program.stop();
  },
  300_000,
);
