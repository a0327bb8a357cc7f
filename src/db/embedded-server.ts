/** The PostgreSQL process of the embedded database's files, by its pid file, and which program is responsible for it. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import { isAlive } from '../lib/is-alive.ts';

const STOP_TIMEOUT_MS = 8_000;
const POLL_MS = 25;

/** The postmaster that owns `data` now: line 1 of its pid file is the process, line 4 the port. */
export function runningServer(data: string): { pid: number; port: number } | undefined {
  const lines = pidFileLines(data);
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  return pid > 0 && port > 0 && isAlive(pid) && isServerOf(pid, data) ? { pid, port } : undefined;
}

/**
 * After a power cut, or in a new container, the number in the pid file may belong to another program, and PostgreSQL would take
 * any living process of its user for a server. So the file gets the number of this process, which PostgreSQL knows is not a
 * server; the rest of the file says what else to check.
 */
export function replacePidInFile(data: string): void {
  const lines = pidFileLines(data);
  const pid = Number(lines[0]);
  if (pid > 0 && isAlive(pid) && !isServerOf(pid, data))
    writeFileSync(pidFile(data), [process.pid, ...lines.slice(1)].join('\n'));
}

/** Whether the server of `data` was started with these settings, `name=value`. */
export function hasSettings(data: string, settings: readonly string[]): boolean {
  const file = path.join(data, 'postmaster.opts');
  const line = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return settings.every((setting) => line.includes(`"${setting}"`));
}

/**
 * Stops the server in PostgreSQL's fast mode, and if that takes too long in immediate mode: at its next start the server then
 * recovers by its log, and nothing committed is lost.
 */
export async function stopServer(data: string): Promise<void> {
  const server = runningServer(data);
  if (!server) return;
  process.kill(server.pid, 'SIGINT');
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (isAlive(server.pid) && performance.now() < deadline) await sleep(POLL_MS);
  if (isAlive(server.pid)) process.kill(server.pid, 'SIGQUIT');
}

/**
 * Several processes may share the server of one folder. The process that started it last stops it, and restarts it after a crash.
 */
export function answerForServer(folder: string): void {
  writeFileSync(ownerFile(folder), String(process.pid));
}

/** Whether this process is responsible for the server: it started it, or the process that did has ended. */
export function answersForServer(folder: string): boolean {
  const owner = existsSync(ownerFile(folder)) ? Number(readFileSync(ownerFile(folder), 'utf8')) : 0;
  if (owner > 0 && owner !== process.pid && isAlive(owner)) return false;
  if (owner !== process.pid) answerForServer(folder);
  return true;
}

/** A server works in its data folder. Where that cannot be read, its name decides; without /proc the number alone does. */
function isServerOf(pid: number, data: string): boolean {
  const name = `/proc/${pid}/comm`;
  if (!existsSync(name)) return true;
  try {
    const [its, ours] = [statSync(`/proc/${pid}/cwd`), statSync(data)];
    return its.dev === ours.dev && its.ino === ours.ino;
  } catch {
    return readFileSync(name, 'utf8').startsWith('postgres');
  }
}

function pidFileLines(data: string): readonly string[] {
  return existsSync(pidFile(data)) ? readFileSync(pidFile(data), 'utf8').split('\n') : [];
}

function pidFile(data: string): string {
  return path.join(data, 'postmaster.pid');
}

function ownerFile(folder: string): string {
  return path.join(folder, 'owner.pid');
}
