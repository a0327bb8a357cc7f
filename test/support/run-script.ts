/** Runs a program of the folder `scripts` as an operator does, on the database of a test. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { OBSERVED } from './check-statements.ts';

export interface RanScript {
  readonly code: number | null;
  /** Both of its outputs. */
  readonly text: string;
}

export type ScriptSettings = Readonly<Record<string, string>>;

/** Longer than any script needs, so that a hanging one fails its test and not the run. */
const SCRIPT_MS_MAX = 240_000;

/** Starts it with these settings and no others. */
export function startScript(
  name: string,
  words: readonly string[],
  settings: ScriptSettings,
  cwd?: string,
): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [path.resolve(`scripts/${name}.ts`), ...words], {
    env: { PATH: process.env['PATH'], ...OBSERVED, ...settings },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: SCRIPT_MS_MAX,
  });
}

/** Runs it to its end, in this folder or in `cwd`. */
export async function runScript(
  name: string,
  words: readonly string[],
  settings: ScriptSettings,
  cwd?: string,
): Promise<RanScript> {
  const child = startScript(name, words, settings, cwd);
  const texts: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => texts.push(chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, text: texts.join('') };
}
