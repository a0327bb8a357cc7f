import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../src/lib/is-alive.ts';

test('a process is alive until it has ended', async () => {
  const child = spawn('sleep', ['30']);
  expect(isAlive(child.pid ?? 0)).toBe(true);
  child.kill();
  await once(child, 'exit');
  expect(isAlive(child.pid ?? 0)).toBe(false);
});

// The shell becomes a program that never asks what became of its child.
test.runIf(process.platform === 'linux')('one that has ended and that nobody asked about is not alive', async () => {
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void parent.kill());
  const [line] = await once(parent.stdout, 'data');
  const pid = Number(String(line));
  expect(isAlive(pid)).toBe(true);
  process.kill(pid);
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect(() => process.kill(pid, 0)).not.toThrow();
  parent.kill();
});
