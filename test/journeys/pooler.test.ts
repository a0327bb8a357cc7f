/**
 * A real PgBouncer before the database: in session mode it needs no settings for us, in transaction mode the start says what to
 * change. Needs PgBouncer (Debian's package); where there is none this file is left out.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openMigratedDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { sql } from '../../src/db/database.ts';
import { freePort } from '../support/free-port.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { createTestDatabase } from '../support/test-database.ts';

const POOLER = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin']
  .map((folder) => `${folder}/pgbouncer`)
  .find(existsSync);

interface Pooler {
  readonly url: string;
  hasExited(): boolean;
}

/** Starts one before the database, with an address through it. */
async function pooled(program: string, direct: string, mode: string): Promise<Pooler> {
  const { hostname, port, pathname, username, password } = new URL(direct);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-pooler-'));
  const listens = await freePort();
  const file = path.join(folder, 'pgbouncer.ini');
  const target = `host=${hostname} port=${port} user=${username} password=${password}`;
  const name = pathname.slice(1);
  const settings = [`listen_addr = 127.0.0.1`, `listen_port = ${listens}`, 'unix_socket_dir =', 'auth_type = any'];
  writeFileSync(
    file,
    ['[databases]', `${name} = ${target}`, '[pgbouncer]', ...settings, `pool_mode = ${mode}`].join('\n'),
  );
  // It does not run as root.
  chmodSync(folder, 0o755);
  const child = spawn(program, [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file], { stdio: 'ignore' });
  afterFile(() => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    url: `postgres://${username}@127.0.0.1:${listens}/${name}`,
    hasExited: () => child.exitCode !== null,
  };
}

describe.skipIf(POOLER === undefined)('behind PgBouncer (left out where it is not installed)', async () => {
  const { url: direct } = await createTestDatabase();
  const start = (url: string) =>
    openMigratedDatabase(loadConfig({ DATABASE_URL: url, DATA_DIR: '/nowhere' }), silentLog);

  async function started({ url, hasExited }: Pooler): ReturnType<typeof start> {
    for (;;) {
      try {
        return await start(url);
      } catch (error) {
        // It does not listen yet.
        if (hasExited() || !messageOf(error).includes('ECONNREFUSED')) throw error;
        await sleep(50);
      }
    }
  }

  it('works in session mode, with our own limits and time zone', async () => {
    const { database, close } = await started(await pooled(POOLER ?? '', direct, 'session'));
    const [row] = await queryRows(
      database,
      sql`SELECT current_setting('statement_timeout') AS limit, current_setting('TimeZone') AS zone`,
    );
    await close();
    expect(row).toEqual({ limit: '15min', zone: 'UTC' });
  });

  it('does not start in transaction mode, and says what to change', async () => {
    const starting = started(await pooled(POOLER ?? '', direct, 'transaction'));
    await expect(starting).rejects.toThrow('set pool_mode = session in PgBouncer');
  });
});
