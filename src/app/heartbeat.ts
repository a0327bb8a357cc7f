/**
 * What this process does regularly besides its work: it records that it is alive, watches the disk, and checks whether the
 * installation is on hold. The worker pauses while the disk is full or the installation is on hold; `/readyz` says so.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config/settings.ts';
import { isDiskFull, recordLowDisk, writeProblem } from '../db/full-disk.ts';
import { probeDisk } from '../db/probe-disk.ts';
import type { Context } from '../domain/context.ts';
import { watchProgress } from '../domain/campaigns/watch-progress.ts';
import { pauseOverdueCampaigns } from '../domain/installation/pause-overdue.ts';
import type { Place } from '../domain/installation/place.ts';
import {
  enterProcess,
  deleteOldProcesses,
  leaveProcess,
  signOfLife,
  type ProcessState,
} from '../domain/installation/process-store.ts';
import { guardRestoredBackup, guardState } from '../domain/installation/restore-guard.ts';
import { flushHookFaults, type CountedHookFaults } from '../domain/installation/flush-hook-faults.ts';
import { flushMessageCounts } from '../domain/sending/count-messages.ts';
import { messageOf } from '../lib/errors.ts';
import { PROCESS_ID } from '../lib/process-id.ts';

/** What is paused: the running worker, or undefined. */
export interface Pausable {
  isWorking(): boolean;
  pause(reason: string): void;
  resume(reason: string): void;
}

export interface ProcessHeartbeat {
  /** Whether the installation is held as a restored backup. */
  isHeld(): boolean;
  /** Records from now on that this worker is alive, and pauses it when necessary. */
  watch(worker: Pausable): void;
  /** Throws when the disk has no space. */
  checkDisk(): Promise<void>;
  /** Records that this process is stopping, so that others do not wait for its worker. */
  close(): Promise<void>;
}

interface HeartbeatOptions {
  readonly ctx: Context;
  readonly settings: Settings;
  readonly isEmbedded: boolean;
  readonly version: string;
  readonly hookFaults: CountedHookFaults;
}

const INTERVAL_MS = 3_000;
const WATCH_INTERVAL_MS = 30_000;
/** If this cannot be recorded, other processes believe for a few more seconds that it is alive. */
const LEAVING_MS_MAX = 1_000;
/** PostgreSQL stops when its log finds no space. This is space for two of its files, and as much again for tables. */
const FREE_BYTES_MIN = 64 * 1_024 * 1_024;
export const HELD = 'installation held';
const DISK = 'disk full';

/** Finds out where the database is, puts the installation on hold if necessary, and starts the heartbeat. */
export async function startHeartbeat(options: HeartbeatOptions): Promise<ProcessHeartbeat> {
  const { ctx, settings } = options;
  const arriving = { place: placeOf(options), seenAt: lastSeen(settings) };
  const held = await guardRestoredBackup(ctx, arriving);
  if (held) ctx.log.error('installation.held', { reason: held.reason, release: 'npm run end-hold' });
  await pauseOverdueCampaigns(ctx);
  await deleteOldProcesses(ctx.db);
  return new Heartbeat(options, held !== null);
}

class Heartbeat implements ProcessHeartbeat {
  readonly #options: HeartbeatOptions;
  #isHeld: boolean;
  #worker: Pausable | undefined;
  #seenAt: Date | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #watchedAt = performance.now();
  #signing: Promise<Date | undefined> = Promise.resolve(undefined);

  constructor(options: HeartbeatOptions, isHeld: boolean) {
    this.#options = options;
    this.#isHeld = isHeld;
  }

  isHeld(): boolean {
    return this.#isHeld;
  }

  watch(worker: Pausable): void {
    this.#worker = worker;
    void this.#beat();
  }

  async checkDisk(): Promise<void> {
    if (await this.#isDiskFullNow()) throw new Error('The disk is full: sending waits for free space.');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const { ctx } = this.#options;
    const flushed = this.#flushCounts();
    // A sign of life that is under way would say again that it works.
    const leaving = this.#signing
      .catch(() => undefined)
      .then(() => leaveProcess(ctx.database, PROCESS_ID))
      .catch(() => undefined);
    await Promise.race([Promise.all([leaving, flushed]), sleep(LEAVING_MS_MAX, undefined, { ref: false })]);
  }

  async #beat(): Promise<void> {
    const { log } = this.#options.ctx;
    // Separately: on a full disk the heartbeat cannot be written, and then the disk check matters most.
    await this.#watchDisk().catch((error: unknown) => log.warn('disk.not_watched', { message: messageOf(error) }));
    await this.#sign().catch((error: unknown) => log.warn('installation.no_sign', { message: messageOf(error) }));
    await this.#flushCounts();
    await this.#watchCampaigns().catch((error: unknown) =>
      log.warn('campaigns.not_watched', { message: messageOf(error) }),
    );
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#beat(), INTERVAL_MS).unref();
  }

  /** The counters are for monitoring; what cannot be added now is added the next time. */
  async #flushCounts(): Promise<void> {
    const { ctx, hookFaults } = this.#options;
    await flushMessageCounts(ctx.database).catch(() => undefined);
    await flushHookFaults(ctx.database, hookFaults).catch(() => undefined);
  }

  async #sign(): Promise<void> {
    const { ctx, settings } = this.#options;
    if (this.#isClosed) return;
    this.#signing = signOfLife(ctx.database, this.#state());
    const seenAt = await this.#signing;
    if (!seenAt) await this.#enter();
    else this.#seenAt = seenAt;
    await this.#watchGuard();
    remember(settings, this.#seenAt ?? null);
  }

  /** Runs at the start. Also when the database was restored to a time before this process was registered. */
  async #enter(): Promise<void> {
    const { ctx } = this.#options;
    if (this.#seenAt) await guardRestoredBackup(ctx, { place: placeOf(this.#options), seenAt: this.#seenAt });
    this.#seenAt = await enterProcess(ctx.database, this.#state());
  }

  async #watchGuard(): Promise<void> {
    const { ctx } = this.#options;
    const { hold: held, isPlaced } = await guardState(ctx.database);
    if (!held && !isPlaced) await guardRestoredBackup(ctx, { place: placeOf(this.#options), seenAt: null });
    const isHeld = held !== null;
    if (isHeld !== this.#isHeld) ctx.log.warn(isHeld ? 'installation.held' : 'installation.released');
    this.#isHeld = isHeld;
    if (isHeld) this.#worker?.pause(HELD);
    else this.#worker?.resume(HELD);
  }

  /** In every process: when all workers are dead, nobody else would notice that campaigns do not progress. */
  async #watchCampaigns(): Promise<void> {
    if (performance.now() - this.#watchedAt < WATCH_INTERVAL_MS) return;
    this.#watchedAt = performance.now();
    await watchProgress(this.#options.ctx);
  }

  async #watchDisk(): Promise<void> {
    if (writeProblem() !== undefined) await probeDisk(this.#options.ctx.database);
    const isDiskFullNow = await this.#isDiskFullNow();
    recordLowDisk(isDiskFullNow);
    if (isDiskFullNow) this.#worker?.pause(DISK);
    else this.#worker?.resume(DISK);
  }

  async #isDiskFullNow(): Promise<boolean> {
    if (isDiskFull()) return true;
    const { isEmbedded, settings } = this.#options;
    if (!isEmbedded) return false;
    const { bavail, bsize } = await statfs(settings.DATA_DIR);
    return bavail * bsize < FREE_BYTES_MIN;
  }

  #state(): ProcessState {
    const { settings, version } = this.#options;
    return {
      ...{ id: PROCESS_ID, host: hostname(), pid: process.pid, roles: settings.ROLES, version },
      memoryMb: Math.round(process.memoryUsage.rss() / 1_048_576),
      isWorking: this.#worker?.isWorking() ?? false,
    };
  }
}

/** How this process names the place of its database. The embedded database has another port at every start. */
function placeOf({ settings, isEmbedded }: HeartbeatOptions): Pick<Place, 'address' | 'file'> {
  if (isEmbedded) {
    const { ino, birthtimeMs } = statSync(path.join(settings.DATA_DIR, 'postgres', 'data', 'PG_VERSION'));
    return { address: null, file: `${ino}.${birthtimeMs}` };
  }
  const { hostname: host, port, pathname } = new URL(settings.DATABASE_URL);
  return { address: `${host}:${port || '5432'}${pathname}`, file: null };
}

/** The time of the latest heartbeat that is stored on this machine. A container without a lasting folder has none. */
function lastSeen(settings: Settings): Date | null {
  try {
    const at = new Date(readFileSync(memoryOf(settings), 'utf8').trim());
    return Number.isNaN(at.getTime()) ? null : at;
  } catch {
    return null;
  }
}

function remember(settings: Settings, seenAt: Date | null): void {
  try {
    writeFileSync(memoryOf(settings), seenAt ? `${seenAt.toISOString()}\n` : '');
  } catch {
    // The folder cannot be written to: the guard has one sign less.
  }
}

function memoryOf({ DATA_DIR }: Settings): string {
  return path.join(DATA_DIR, 'last-seen');
}
