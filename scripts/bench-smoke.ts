/**
 * Runs every program of bench/ with `--smoke`: a few seconds each, to see that it still works, not how fast it is.
 * Fails when one fails or does not end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import path from 'node:path';

/** A smoke run that starts a database and a sink takes seconds; a minute and a half says that it hangs. */
const TIMEOUT_MS = 90_000;

const root = path.resolve(import.meta.dirname, '..');
const failed: string[] = [];
const programs = globSync('bench/*.ts', { cwd: root }).sort();
for (const program of programs) {
  console.log(`\n== ${program} --smoke`);
  const startedAt = performance.now();
  const ended = await run(program);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`== ${program}: ${ended ?? 'ok'} after ${seconds} s`);
  if (ended !== undefined) failed.push(program);
}
console.log(`\n${programs.length - failed.length} of ${programs.length} benches ran.`);
if (failed.length > 0) process.exitCode = 1;

/** What went wrong, or undefined. */
async function run(program: string): Promise<string | undefined> {
  const child = spawn(process.execPath, [program, '--smoke'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(timer);
  if (code === 0) return undefined;
  return signal === 'SIGKILL' ? `did not end in ${TIMEOUT_MS / 1000} s` : `failed (${code ?? signal})`;
}
