/**
 * Runs every program of bench/ with `--smoke`: a few seconds each, two at a time, to see that they still work, not how fast they
 * are. Fails when one fails or does not end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A smoke run takes seconds to start a database and a sink, twice as long beside another one; after two minutes it hangs. */
const TIMEOUT_MS = 120_000;
const AT_A_TIME = 2;

const root = path.resolve(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-benches-'));
const failed: string[] = [];
const programs = globSync('bench/*.ts', { cwd: root }).sort();
const waiting = [...programs];

async function runWaiting(): Promise<void> {
  for (let program = waiting.shift(); program !== undefined; program = waiting.shift()) {
    const startedAt = performance.now();
    const { fault, output } = await run(program);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`\n== ${program} --smoke\n${output}== ${program}: ${fault ?? 'ok'} after ${seconds} s`);
    if (fault !== undefined) failed.push(program);
  }
}

/** Its output, and what went wrong, if anything. The output goes to a file, because a child that hangs could keep a pipe open. */
async function run(program: string): Promise<{ fault: string | undefined; output: string }> {
  const file = path.join(folder, path.basename(program));
  const printed = openSync(file, 'w');
  const child = spawn(process.execPath, [program, '--smoke'], { cwd: root, stdio: ['ignore', printed, printed] });
  closeSync(printed);
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(timer);
  const output = readFileSync(file, 'utf8');
  if (code === 0) return { fault: undefined, output };
  const hung = signal === 'SIGKILL';
  return { fault: hung ? `did not end in ${TIMEOUT_MS / 1000} s` : `failed (${code ?? signal})`, output };
}

await Promise.all(Array.from({ length: AT_A_TIME }, runWaiting));
rmSync(folder, { recursive: true });
console.log(`\n${programs.length - failed.length} of ${programs.length} benches ran.`);
if (failed.length > 0) process.exitCode = 1;
