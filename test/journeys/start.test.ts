/** What an operator sees: the first start on embedded defaults, the second, faults in the settings, kill and Ctrl-C. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { isAlive } from '../../src/lib/is-alive.ts';
import { afterFile } from '../support/after-file.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { OBSERVED } from '../support/check-statements.ts';

const MAIN = path.resolve('src/main.ts');
// Where the user that the database runs as may go; a temporary folder of a sandbox may be closed to it.
const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-start-'));
afterFile(() => rmSync(dataDir, { recursive: true, force: true }));

const environment = {
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  DATA_DIR: dataDir,
  INBOX_SMTP_PORT: '0',
  LOG_FORMAT: 'json',
  ...OBSERVED,
};

interface Running {
  readonly banner: string;
  readonly url: string;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

async function start(settings: Record<string, string> = {}): Promise<Running> {
  const port = String(await freePort());
  const child = spawn(process.execPath, [MAIN], {
    env: { ...environment, PORT: port, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = once(child, 'exit');
  afterFile(async () => {
    if (child.kill('SIGKILL')) await gone;
  });
  let [printed, logged] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (logged += chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes('Ctrl-C')) resolve();
    });
    child.on('exit', () => reject(new Error(`It did not start: ${printed}${logged}`)));
  });
  return {
    banner: printed,
    url: `http://127.0.0.1:${port}`,
    async end(signal) {
      child.kill(signal);
      await gone;
      return child.exitCode;
    },
  };
}

const me = async (url: string, token: string): Promise<number> =>
  (await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;

function databaseProcess(): number {
  return Number(readFileSync(path.join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

describe('npm start', () => {
  it('sets itself up, says in few lines where everything is, and shows the secrets once', async () => {
    const first = await start();
    expect(first.banner.trim().split('\n').length).toBeLessThan(15);
    const [, token = ''] = /API token +(\w{60})/.exec(first.banner) ?? [];
    expect(first.banner).toMatch(/Password +\S{12,}/);
    for (const place of ['/graphql', '/docs', '/inbox']) expect(first.banner).toContain(first.url + place);
    expect(await me(first.url, token)).toBe(200);
    expect(await me(first.url, 'x'.repeat(60))).toBe(401);

    const database = databaseProcess();
    expect(await first.end('SIGINT')).toBe(0);
    expect(isAlive(database)).toBe(false);

    const second = await start();
    expect(second.banner).not.toMatch(/Password|API token/);
    expect(await me(second.url, token)).toBe(200);

    // Killed: the database stays behind, and the next start takes it over and stops it in the end.
    const orphan = databaseProcess();
    await second.end('SIGKILL');
    expect(isAlive(orphan)).toBe(true);
    const third = await start();
    expect(databaseProcess()).toBe(orphan);
    expect(await me(third.url, token)).toBe(200);
    expect(await third.end('SIGTERM')).toBe(0);
    expect(isAlive(orphan)).toBe(false);
  });

  it('says 503 while its database is dead, and brings it back', async () => {
    const running = await start();
    process.kill(databaseProcess(), 'SIGKILL');
    const seen = new Set<number>();
    let retryAfter: string | null = null;
    await vi.waitFor(
      async () => {
        const answer = await fetch(`${running.url}/api/v1/lists`, { headers: { authorization: 'Bearer x' } });
        seen.add(answer.status);
        if (answer.status === 503) retryAfter = answer.headers.get('retry-after');
        expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
        expect(seen).toContain(503);
      },
      { timeout: 120_000, interval: 100 },
    );
    // 401 is what the made-up token gets when the database can be asked.
    expect([...seen].filter((status) => status !== 401)).toEqual([503]);
    expect(Number(retryAfter)).toBeGreaterThan(0);
    expect(await me(running.url, 'x'.repeat(60))).toBe(401);
    expect(await running.end('SIGTERM')).toBe(0);
  });

  it('says what to do when it may not make its folder', () => {
    const { status, stderr } = spawnSync(process.execPath, [MAIN], {
      env: { ...environment, DATA_DIR: '/dev/null/x' },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/cannot be made.*Set DATA_DIR/s);
  });

  it('names every fault of the settings at once, and no secret', () => {
    const settings = {
      PORT: '99999',
      ROLES: 'web,cook',
      ADMIN_PASSWORD: 'short',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'mysql://user:hunter2@db/x',
      OUTBOUND_ALLOW_HOSTS: 'relay.internal,10.0.0.0/99',
      TRUSTED_PROXIES: '10.0.0.1,proxy',
    };
    const { status, stderr } = spawnSync(process.execPath, [MAIN], {
      env: { ...environment, ...settings },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain(`The settings have ${Object.keys(settings).length} faults:`);
    for (const name of Object.keys(settings)) expect(stderr).toContain(` ${name} `);
    expect(stderr).toContain('PORT is "99999"; it must be a number from 0 to 65535.\n');
    expect(stderr).toContain('separated by commas, and "10.0.0.0/99" is not.\n');
    expect(stderr).toContain('separated by commas, and "proxy" is not.\n');
    expect(stderr).not.toMatch(/short\b|hunter2/);
  });

  it('says what to do when the database cannot be reached', async () => {
    const url = `postgresql://nobody:secret@127.0.0.1:${await freePort()}/none`;
    const { status, stderr } = spawnSync(process.execPath, [MAIN], {
      env: { ...environment, DATABASE_URL: url },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/DATABASE_URL cannot be used.*leave DATABASE_URL empty/s);
    expect(stderr).not.toContain('secret@');
  });

  it('makes no keys of a secret that a full disk or a power cut left empty', async () => {
    const { url } = await createTestDatabase();
    const folder = mkdtempSync(path.join(dataDir, 'cut-short-'));
    writeFileSync(path.join(folder, 'secret'), '');
    const { status, stderr } = spawnSync(process.execPath, [MAIN], {
      env: { ...environment, DATABASE_URL: url, DATA_DIR: folder, PORT: '0', INBOX: 'off' },
      encoding: 'utf8',
      timeout: 120_000,
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/secret is empty.*backup/s);
  });

  it('shows the secrets even when the first start fails afterwards', async () => {
    const { url } = await createTestDatabase();
    const own = { DATABASE_URL: url, APP_SECRET: 's'.repeat(40) };
    const { status, stdout } = spawnSync(process.execPath, [MAIN], {
      env: { ...environment, ...own, PORT: '0', GEOIP_FILE: '/nowhere.mmdb' },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/Password +\S{12,}/);
    const [, token = ''] = /API token +(\w{60})/.exec(stdout) ?? [];
    const running = await start(own);
    expect(running.banner).not.toMatch(/Password|API token/);
    expect(await me(running.url, token)).toBe(200);
    await running.end('SIGTERM');
  });

  it('says what to do when the port is taken', async () => {
    const running = await start();
    const { status, stderr } = spawnSync(process.execPath, [MAIN], {
      env: { ...environment, PORT: new URL(running.url).port },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    // Nothing was started that would have to be stopped again, in many lines.
    const { port } = new URL(running.url);
    expect(stderr).toMatch(
      new RegExp(
        `^Mailwright could not start\\. .*port ${port}: another program uses this port; set PORT to a free one .*\\n$`,
      ),
    );
    // The second process found the first one's database and must not have stopped it.
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    await running.end('SIGTERM');
  });
});
