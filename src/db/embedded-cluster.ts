/**
 * The files of the embedded database. They are made once, completely or not at all, even if several processes start at the same
 * moment. Existing files are never deleted.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { statSync } from 'node:fs';
import path from 'node:path';
import { isAlive } from '../lib/is-alive.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { makeOnce } from '../lib/make-once.ts';
import type { Binaries } from './embedded-binaries.ts';
import { spawnIdentity, type DatabaseUser } from './embedded-user.ts';

export const SUPERUSER = 'mailwright';

export interface Place {
  readonly folder: string;
  readonly data: string;
  readonly user: DatabaseUser | undefined;
  readonly binaries: Binaries;
}

/** Nobody else may list the folder; the database's user, when it is another one, may pass through it. */
const CLOSED = 0o700;
const PASSABLE = 0o711;

/** Creates the cluster if there is none, and returns its password. */
export function makeCluster(place: Place): string {
  if (!isCluster(place.data)) initialise(place);
  closeFolder(place);
  return readFileSync(passwordFile(place.folder), 'utf8').trim();
}

/** Throws when the folder holds something that is no database: a faulty disk must not look like a first start. */
function isCluster(data: string): boolean {
  const files = existsSync(data) ? readdirSync(data) : [];
  if (files.includes('PG_VERSION')) return true;
  if (files.length === 0) return false;
  throw new Error(
    `The folder ${data} holds files, but no whole database (PG_VERSION is missing). Nothing was changed. ` +
      `Put it back from a backup, or move it away to begin with an empty database.`,
  );
}

/** In a temporary folder that is moved when it is complete: a killed initdb leaves half a cluster. */
function initialise({ folder, data, user, binaries }: Place): void {
  makeFolder(folder);
  removeLeftovers(folder);
  const made = `${data}.new.${process.pid}`;
  mkdirSync(made, { mode: 0o700 });
  if (user) {
    chmodSync(folder, PASSABLE);
    chownSync(made, user.uid, user.gid);
  }
  // One password for all processes that create the cluster at the same moment.
  makeOnce(passwordFile(folder), `${crypto.randomUUID().replaceAll('-', '')}\n`, user);
  const settings = ['-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C.UTF-8', '--no-instructions'];
  const result = spawnSync(
    binaries.initdb,
    ['-D', made, '-U', SUPERUSER, `--pwfile=${passwordFile(folder)}`, ...settings],
    { ...spawnIdentity(user), encoding: 'utf8', cwd: '/' },
  );
  if (result.status !== 0) {
    rmSync(made, { recursive: true, force: true });
    throw new Error(
      `The embedded database could not be made in ${data}: ${result.error?.message ?? result.stderr.trim()}`,
    );
  }
  moveInto(data, made);
}

/** Also a folder of an earlier version. If it belongs to another user, opening the log says what to do. */
function closeFolder({ folder, user }: Place): void {
  const mode = user ? PASSABLE : CLOSED;
  try {
    if ((statSync(folder).mode & 0o777) !== mode) chmodSync(folder, mode);
  } catch {
    // Not ours to change.
  }
}

/** Removes what killed set-ups left behind; folders of living processes stay. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid] = /^data\.new(?:\.(\d+))?$/.exec(name) ?? [];
    const isLeft = name === 'data.new' || (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))));
    if (isLeft) rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

/** If another process was faster, its cluster is used: a folder that is not empty is not replaced. */
function moveInto(data: string, made: string): void {
  try {
    renameSync(made, data);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!isCluster(data)) throw error;
  }
}

function passwordFile(folder: string): string {
  return path.join(folder, 'password');
}
