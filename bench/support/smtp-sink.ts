/** Postfix's smtp-sink and smtp-source: a receiver and a sender that nobody here wrote. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/db/free-port.ts';

export interface Sink {
  readonly port: number;
  readonly name: string;
  /** Messages a second that smtp-source reaches against it; undefined where there is no smtp-source. */
  measureSource(messages: number, bytes: number): Promise<number | undefined>;
  close(): void;
}

const PLACES = ['/usr/sbin', '/usr/local/sbin', '/usr/lib/postfix/sbin'];

/** The folder with the two programs, or undefined. */
export function postfixFolder(): string | undefined {
  const named = process.env['SMTP_SINK'];
  const folders = named ? [path.dirname(named)] : PLACES;
  return folders.find((folder) => existsSync(path.join(folder, 'smtp-sink')));
}

/** Starts smtp-sink; `dump` names a folder and template under which it keeps every message as a file. */
export async function startSmtpSink(folder: string, dump?: string): Promise<Sink> {
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  const args = [...(isRoot ? ['-u', 'nobody'] : []), ...(dump ? ['-d', dump] : []), `127.0.0.1:${port}`, '1000'];
  const sink = spawn(path.join(folder, 'smtp-sink'), args, { env: withLibraries(folder), stdio: 'ignore' });
  await untilListening(port, sink);
  return {
    port,
    name: 'smtp-sink',
    measureSource: (messages, bytes) => measureSource(folder, { port, messages, bytes }),
    close: () => void sink.kill('SIGKILL'),
  };
}

/** The package's own libraries lie beside it when it was only unpacked, not installed. */
function withLibraries(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, LD_LIBRARY_PATH: path.join(folder, '..', 'lib', 'postfix') };
}

async function measureSource(
  folder: string,
  run: { port: number; messages: number; bytes: number },
): Promise<number | undefined> {
  const program = path.join(folder, 'smtp-source');
  if (!existsSync(program)) return undefined;
  const args = [
    '-s',
    '20',
    '-l',
    String(run.bytes),
    '-m',
    String(run.messages),
    '-f',
    'a@example.com',
    '-t',
    'b@example.org',
    `127.0.0.1:${run.port}`,
  ];
  const startedAt = performance.now();
  const source = spawn(program, args, { env: withLibraries(folder), stdio: 'ignore' });
  const code = await new Promise<number | null>((resolve) => source.on('exit', resolve));
  if (code !== 0) throw new Error(`smtp-source ended with code ${code}.`);
  return (run.messages / (performance.now() - startedAt)) * 1_000;
}

async function untilListening(port: number, sink: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (sink.exitCode !== null) throw new Error(`smtp-sink ended with code ${sink.exitCode}.`);
    if (await canConnect(port)) return;
    await sleep(25);
  }
  throw new Error('smtp-sink does not listen.');
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('data', () => socket.end('QUIT\r\n'));
    setTimeout(() => socket.destroy(), 100);
  });
}
