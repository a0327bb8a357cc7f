/**
 * PostgreSQL refuses to run as root. When the program runs as root, the database runs as an unprivileged user, who must be able
 * to enter the data folder. This is checked first, because initdb would fail with a poor message.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../lib/make-folder.ts';

export interface DatabaseUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const PREFERRED_USERS = ['postgres', 'mailwright', 'nobody'];

/**
 * The user the database runs as; undefined is the program's own. An existing database keeps its owner, because PostgreSQL opens
 * no other user's files. Throws when that user may not enter `folder` (in the data folder), or when we may not run as that user.
 */
export function databaseUserFor(folder: string, data: string): DatabaseUser | undefined {
  const owner = existsSync(data) ? statSync(data).uid : undefined;
  if (process.getuid?.() !== 0) {
    const own = process.getuid?.();
    if (own !== undefined && owner !== undefined && owner !== own) throw anothersDatabase(data, owner, own);
    return undefined;
  }
  const user = owner ? userWith(owner, data) : unprivilegedUser();
  makeFolder(folder);
  // The data folder belongs to the program. The database's user may pass through it but may not read its files.
  for (const own of [folder, path.dirname(folder)]) openTheWay(own);
  const closed = firstClosedFolder(path.resolve(folder), user);
  if (closed === undefined) return user;
  throw new Error(
    `The database cannot run as root, so it runs as the user "${user.name}", and that user may not enter ${closed}. ` +
      `Set DATA_DIR to a folder it can reach, for example DATA_DIR=/var/lib/mailwright, ` +
      `or start the program as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.`,
  );
}

/** Options for a child process that runs as this user. */
export function spawnIdentity(user: DatabaseUser | undefined): { uid?: number; gid?: number } {
  return user ? { uid: user.uid, gid: user.gid } : {};
}

function openTheWay(folder: string): void {
  const { mode } = statSync(folder);
  if ((mode & 0o011) !== 0o011) chmodSync(folder, mode | 0o011);
}

function anothersDatabase(data: string, owner: number, own: number): Error {
  return new Error(
    `The embedded database in ${data} belongs to the user "${nameOf(owner)}", and this program runs as "${nameOf(own)}". ` +
      `Start it as root or as "${nameOf(owner)}", as before, or stop it and give the whole DATA_DIR to this user: ` +
      `chown -R ${nameOf(own)} ${path.resolve(data, '../..')}`,
  );
}

function nameOf(uid: number): string {
  return knownUsers().find((user) => user.uid === uid)?.name ?? String(uid);
}

function userWith(uid: number, data: string): DatabaseUser {
  return { name: nameOf(uid), uid, gid: statSync(data).gid };
}

function knownUsers(): readonly DatabaseUser[] {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

function unprivilegedUser(): DatabaseUser {
  const users = knownUsers();
  for (const name of PREFERRED_USERS) {
    const user = users.find((candidate) => candidate.name === name && candidate.uid > 0);
    if (user) return user;
  }
  throw new Error(
    'The database cannot run as root and there is no user "postgres" or "nobody" to run it as. ' +
      'Start the program as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

function firstClosedFolder(folder: string, user: DatabaseUser): string | undefined {
  const parts = folder.split(path.sep).filter(Boolean);
  const ancestors = parts.map((_, index) => path.sep + parts.slice(0, index + 1).join(path.sep));
  return ancestors.find((ancestor) => !mayEnter(ancestor, user));
}

function mayEnter(folder: string, user: DatabaseUser): boolean {
  const { mode, uid, gid } = statSync(folder);
  const open = uid === user.uid ? mode & 0o100 : gid === user.gid ? mode & 0o010 : mode & 0o001;
  // The mode is checked first; where it says no, an access list may still say yes.
  if (open !== 0) return true;
  return spawnSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...spawnIdentity(user), cwd: '/' }).status === 0;
}
