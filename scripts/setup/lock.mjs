/** One set-up at a time in one project, also across containers that share the folder. */
import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { inProject } from './project.mjs';
import { SetupError } from './step.mjs';

const LOCK = inProject('.setup-lock');
const HEARTBEAT_MS = 5_000;
/** A holder without a heartbeat for this long is dead: twelve heartbeats missed. */
const STALE_AFTER_MS = 60_000;
const POLL_MS = 250;
/** Longer than any installation should take; then a person should check. */
const WAIT_MAX_MS = 15 * 60_000;

/** Runs `work` when no other set-up runs. */
export async function withLock(work) {
  const mine = JSON.stringify({ host: hostname(), pid: process.pid, token: randomUUID() });
  await acquire(mine);
  const heartbeat = setInterval(beat, HEARTBEAT_MS);
  const release = () => readHolder() === mine && rmSync(LOCK, { force: true });
  const interrupted = (signal) => {
    release();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    release();
  }
}

/** If the lock was broken or removed, the installation continues all the same. */
function beat() {
  try {
    utimesSync(LOCK, new Date(), new Date());
  } catch {
    // The next start will check the result.
  }
}

async function acquire(mine) {
  const deadline = Date.now() + WAIT_MAX_MS;
  for (let isAnnounced = false; !tryAcquire(mine); await sleep(POLL_MS)) {
    const holder = readHolder();
    if (holder && isStale(holder)) breakLock(holder);
    else if (!isAnnounced) console.log('Another set-up of this folder is running; waiting for it.');
    isAnnounced = true;
    if (Date.now() > deadline)
      throw new SetupError(`The other set-up does not end. If none is running, remove ${LOCK}.`);
  }
}

function tryAcquire(mine) {
  try {
    writeFileSync(LOCK, mine, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new SetupError(
      `This user may not write to the folder of the program (${error.message}). Change its owner, then run the same command again.`,
    );
  }
}

function readHolder() {
  try {
    return readFileSync(LOCK, 'utf8');
  } catch {
    return undefined;
  }
}

function isStale(holder) {
  try {
    if (Date.now() - statSync(LOCK).mtimeMs > STALE_AFTER_MS) return true;
    const { host, pid } = JSON.parse(holder);
    return host === hostname() && !isAlive(pid);
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Two processes may break the same stale lock: the one that moved away the other's new lock puts it back. */
function breakLock(stale) {
  const moved = `${LOCK}.${randomUUID()}`;
  try {
    renameSync(LOCK, moved);
    if (readFileSync(moved, 'utf8') !== stale) linkSync(moved, LOCK);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(moved, { force: true });
  }
}
