/** Postfix's own test programs, where they are installed or unpacked: `smtp-sink` receives, `smtp-source` sends. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/db/free-port.ts';

export interface PostfixSink {
  readonly port: number;
  close(): void;
}

/** Starts `smtp-sink` on a free port. */
export async function startPostfixSink(program: string): Promise<PostfixSink> {
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const sink = spawn(program, [...user, `127.0.0.1:${port}`, '1000'], {
    env: environmentOf(program),
    stdio: 'inherit',
  });
  while (!(await answers(port))) await sleep(50);
  return { port, close: () => void sink.kill() };
}

/** Seconds that the `smtp-source` beside it takes; undefined where there is none. */
export function runSmtpSource(
  sinkProgram: string,
  { port, connections, bytes, messages }: { port: number; connections: number; bytes: number; messages: number },
): number | undefined {
  const program = path.join(path.dirname(sinkProgram), 'smtp-source');
  if (!existsSync(program)) return undefined;
  const startedAt = performance.now();
  const args = ['-s', connections, '-l', bytes, '-m', messages, `127.0.0.1:${port}`];
  const run = spawnSync(program, args.map(String), { env: environmentOf(program), stdio: 'inherit' });
  return run.status === 0 ? (performance.now() - startedAt) / 1_000 : undefined;
}

/** An unpacked package has its libraries beside its programs. */
function environmentOf(program: string): NodeJS.ProcessEnv {
  return { ...process.env, LD_LIBRARY_PATH: path.join(path.dirname(program), '../lib/postfix') };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.destroy()).on('close', (failed) => resolve(!failed));
    socket.on('error', () => {});
  });
}
