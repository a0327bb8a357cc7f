/** The parent process gives a new version a time to start, and goes back to the one before when it does not: also a parent process of later. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { currentRelease, isOnTrial, reasonOfLeaving, useRelease } from '../../src/lib/current-release.ts';
import { afterFile } from '../support/after-file.ts';
import { newDataDir } from '../support/plugin-folder.ts';

const KEEPER = path.resolve(import.meta.dirname, '../../src/parent/keep-program.ts');
/** Longer than a busy machine takes to start a program that hangs then. */
const TRIAL_MS = 10_000;
/** Where nothing is to hang. */
const LONG_TRIAL_MS = 100_000;
const READY = `process.send({ kind: 'ready', port: 0 });`;
const STAYS = 'setInterval(() => undefined, 1_000);';

/** A program whose first version makes room for 0.2.0 when it is started, unless it is in use already. */
function newWorld() {
  const dataDir = newDataDir();
  const own = path.join(dataDir, 'own');
  const versions: Record<string, string> = { '0.1.0': own, '0.2.0': path.join(dataDir, 'releases', '0.2.0-abc') };
  const say = (version: string) => `console.log('${version} runs');`;
  function write(version: string, code: string): void {
    const folder = versions[version] ?? '';
    mkdirSync(path.join(folder, 'src'), { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module', version }));
    writeFileSync(path.join(folder, 'src/program.ts'), say(version) + code);
  }
  function start(trialMsMax: number) {
    const main = path.join(dataDir, 'main.mjs');
    const program = JSON.stringify(path.join(own, 'src/program.ts'));
    writeFileSync(
      main,
      `import { keepProgram } from '${KEEPER}'; await keepProgram(${program}, { trialMsMax: ${trialMsMax} });`,
    );
    const parent = spawn(process.execPath, [main], { env: { ...process.env, DATA_DIR: dataDir } });
    afterFile(() => void parent.kill('SIGKILL'));
    let told = '';
    for (const stream of [parent.stdout, parent.stderr])
      stream.on('data', (bytes: Buffer) => (told += bytes.toString()));
    return { parent, told: () => told };
  }
  const use = () => useRelease(dataDir, versions['0.2.0'] ?? '', own);
  return { dataDir, own, write, start, use };
}

async function stop(parent: ChildProcess): Promise<void> {
  const ended = once(parent, 'exit');
  parent.kill('SIGTERM');
  await ended;
}

/** It ends for the version that is in use since then. */
const MAKES_ROOM = `process.send({ kind: 'ready', port: 0 }); process.once('SIGUSR2', () => process.send({ kind: 'replace' }, () => process.exit(0))); process.kill(process.pid, 'SIGUSR2');`;

test.for([
  ['ends', 'process.exit(3);', LONG_TRIAL_MS, 'It ended (code 3).'],
  ['hangs', STAYS, TRIAL_MS, 'It did not work within 10 seconds.'],
  ['is busy for ever', 'for (;;);', TRIAL_MS, 'It did not work within 10 seconds.'],
] as const)('a new version that %s is left, and the reason is kept', async ([, code, trialMsMax, reason]) => {
  const { dataDir, own, write, start, use } = newWorld();
  write('0.2.0', code);
  write('0.1.0', READY + STAYS);
  use();
  // As after kill -9 of everything: this parent process has not seen the version before.
  const { parent, told } = start(trialMsMax);
  await expect.poll(told).toContain('0.1.0 runs');
  expect(told()).toContain(`The new version of Mailwright did not start. ${reason}`);
  expect(told().split('0.2.0 runs')).toHaveLength(2);
  expect(currentRelease(dataDir, own)).toBe(own);
  expect(reasonOfLeaving(dataDir, '0.2.0-abc')).toBe(reason);
  await stop(parent);
});

test('a version that has worked is no longer on trial: it is started again when it ends', async () => {
  const { dataDir, own, write, start, use } = newWorld();
  write('0.1.0', READY + STAYS);
  write('0.2.0', `${READY} setTimeout(() => process.exit(1), ${TRIAL_MS + 1_000});`);
  use();
  const { parent, told } = start(TRIAL_MS);
  await expect.poll(() => isOnTrial(dataDir, currentRelease(dataDir, own))).toBe(false);
  await expect.poll(() => told().split('0.2.0 runs').length).toBeGreaterThan(2);
  expect(told()).not.toContain('0.1.0 runs');
  expect(reasonOfLeaving(dataDir, '0.2.0-abc')).toBeUndefined();
  await stop(parent);
});

test('the version before may also be killed while it makes room', async () => {
  const { write, start, use } = newWorld();
  write('0.2.0', READY + STAYS);
  write('0.1.0', MAKES_ROOM.replace('process.exit(0)', `process.kill(process.pid, 'SIGKILL')`));
  const { parent, told } = start(LONG_TRIAL_MS);
  await expect.poll(told).toContain('0.1.0 runs');
  use();
  await expect.poll(told).toContain('0.2.0 runs');
  expect(told()).not.toContain('did not start');
  await stop(parent);
});
