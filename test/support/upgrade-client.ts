/** Who makes releases and offers them on a web server, and an administrator who upgrades a program to them over the REST interface. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { newSigner, sha256Of, startWebServer } from './plugin-archive.ts';
import type { Program } from './program.ts';

export interface Upgrade {
  readonly state: string;
  readonly reason: string | null;
  readonly running_version: string;
  readonly pending_migrations: readonly string[];
}

export interface UpgradeAnswer {
  readonly status: number;
  readonly body: { readonly upgrade: Upgrade; readonly message: string; readonly errors?: Record<string, string[]> };
}

type Reached = Pick<Program, 'baseUrl' | 'token'>;

/** As for any other start. Nothing of a new version is compiled yet: on a busy machine it takes a minute. */
const START_MS_MAX = 240_000;
const UNDER_WAY = ['downloading', 'checking', 'preparing'];

export async function ask(
  program: Reached,
  method: string,
  where: string,
  fields: object = {},
): Promise<UpgradeAnswer> {
  const response = await fetch(`${program.baseUrl}/api/v1${where}`, {
    method,
    headers: { Authorization: `Bearer ${program.token}`, 'Content-Type': 'application/json' },
    ...(method === 'GET' ? {} : { body: JSON.stringify(fields) }),
  });
  return { status: response.status, body: await response.json() };
}

export async function upgradeOf(program: Reached): Promise<Upgrade> {
  return (await ask(program, 'GET', '/upgrade')).body.upgrade;
}

export async function untilVersion(program: Reached, version: string): Promise<void> {
  const running = () =>
    upgradeOf(program).then(
      (upgrade) => upgrade.running_version,
      () => 'none',
    );
  await expect.poll(running, { timeout: START_MS_MAX, interval: 200 }).toBe(version);
}

/** Offers releases from an address of this machine. */
export async function startReleases() {
  const signer = newSigner();
  /** How it answers instead of with the whole file. */
  const instead: { answer?: ((release: Buffer, send: (bytes: Buffer, isEnd: boolean) => void) => void) | undefined } =
    {};
  let offered: Buffer = Buffer.alloc(0);
  const origin = await startWebServer((_req, res) => {
    if (!instead.answer) return void res.end(offered);
    instead.answer(offered, (bytes, isEnd) => void (isEnd ? res.end(bytes) : res.write(bytes)));
  });

  /** Begins to stage it. */
  async function begin(program: Reached, release: Buffer, fields: object = {}): Promise<void> {
    offered = release;
    const proof = { sha256: sha256Of(release), signature: signer.sign(release) };
    const run = { url: `${origin}/release`, ...proof, ...fields };
    const { status, body } = await ask(program, 'POST', '/upgrade/run', run);
    expect({ status, message: body.message }).toEqual({ status: 200, message: 'The upgrade has begun' });
  }

  /** Stages it, and waits until that has ended. */
  async function stage(program: Reached, release: Buffer, fields: object = {}): Promise<Upgrade> {
    await begin(program, release, fields);
    for (;;) {
      const upgrade = await upgradeOf(program);
      if (!UNDER_WAY.includes(upgrade.state)) return upgrade;
      await sleep(200);
    }
  }

  return { begin, stage, instead, settings: { OUTBOUND_ALLOW_HOSTS: '127.0.0.1', RELEASE_KEYS: signer.key } };
}
