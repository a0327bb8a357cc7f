/** One step of the set-up: prints what is done, runs a program, and gives advice when it fails. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { binFolder, root } from './project.mjs';

/** As much of a failed program's output as fits on a screen. */
const SHOWN_LINES_MAX = 30;

/** A failure whose message tells the reader what to do; printed without a stack. */
export class SetupError extends Error {}

/** Runs `program`, quietly; throws SetupError with the end of its output and `advice(output)` when it fails. */
export async function runStep({ title, program, args, env = {}, cwd = root, advice }) {
  const startedAt = Date.now();
  process.stdout.write(`${title} ... `);
  const { code, output } = await collect(
    spawn(program, args, { cwd, env: childEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  if (code === 0) {
    console.log(`${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
    return;
  }
  console.log('failed');
  const shown = output.trimEnd().split('\n').slice(-SHOWN_LINES_MAX).join('\n');
  throw new SetupError(`${shown}\n\n${title}: failed (${code}). ${advice(output)}`);
}

function collect(child) {
  return new Promise((resolve) => {
    let output = '';
    const add = (chunk) => (output += chunk);
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.on('error', (error) => resolve({ code: error.code, output: `${output}${error.message}\n` }));
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

/** The packages' own Node is first in the path, so that children use it. */
function childEnvironment(extra) {
  return { ...process.env, PATH: [binFolder, process.env.PATH].filter(Boolean).join(path.delimiter), ...extra };
}
