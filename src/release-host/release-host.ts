/**
 * Versions of the program in `DATA_DIR/releases`. Staging one changes nothing of the version that runs: it is written beside it, and a
 * failure at any step leaves at most a folder that the next staging removes. The status is a file, so that it outlives this process.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { unpackArchive } from '../lib/archive/unpack-archive.ts';
import { isCurrent, isNewer, reasonOfLeaving, RELEASES, useRelease, versionIn } from '../lib/current-release.ts';
import { messageOf } from '../lib/errors.ts';
import { isAlive } from '../lib/is-alive.ts';
import type { Log } from '../lib/log.ts';
import { openOutbound } from '../lib/outbound-request.ts';
import { isSignedBy } from '../lib/signature.ts';
import { prepareRelease } from './prepare-release.ts';
import { readRelease, RELEASE_LIMITS } from './read-release.ts';

/** It is in memory while it is checked. */
export const ARCHIVE_BYTES_MAX = 100_000_000;
const DOWNLOAD_MS_MAX = 300_000;
const REASON_CHARS_MAX = 2_000;
const PROGRESS_BYTES = 1_000_000;
/** While it works it writes its status so often. */
const SIGN_OF_LIFE_MS = 10_000;
/** Without one for so long it has ended: its number may be that of another process now, as after the restart of a container. */
const SILENT_MS_MAX = 60_000;
const STATUS_FILE = 'upgrade.json';
/** What is removed has tens of thousands of files; a process that was just ended may have written one more. */
const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;
/** A folder with this name is not complete. */
const INCOMING = '.incoming';

const statusShape = z.object({
  state: z.enum(['none', 'downloading', 'checking', 'preparing', 'staged', 'failed', 'cancelled', 'done']),
  reason: z.string().nullable(),
  version: z.string().nullable(),
  folder: z.string().nullable(),
  sizeBytes: z.number(),
  changedAt: z.coerce.date().nullable(),
  pid: z.number(),
});
type Status = z.output<typeof statusShape>;

const NONE: Status = {
  state: 'none',
  reason: null,
  version: null,
  folder: null,
  sizeBytes: 0,
  changedAt: null,
  pid: 0,
};
const UNDER_WAY: readonly Status['state'][] = ['downloading', 'checking', 'preparing'];

interface Source {
  readonly url: string;
  readonly sha256: string;
  readonly signature: string;
  readonly keys: readonly string[];
  readonly allowedHosts: readonly string[];
}

interface Options {
  readonly dataDir: string;
  /** The folder of the version that runs. */
  readonly own: string;
  /** Whether a parent process starts this one again. */
  readonly hasParent: boolean;
  readonly log: Log;
}

export class ProcessReleases {
  readonly version: string;
  readonly refusal: string | null;
  readonly #root: string;
  readonly #own: string;
  readonly #dataDir: string;
  readonly #log: Log;
  #running: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;
  /** What could not be written into the file. */
  #unwritten: Status | undefined;

  constructor({ dataDir, own, hasParent, log }: Options) {
    this.#dataDir = dataDir;
    this.#root = path.resolve(dataDir, RELEASES);
    this.#own = own;
    this.#log = log;
    this.version = versionIn(own);
    this.refusal = hasParent
      ? null
      : 'This process was not started by npm start, so nothing would start the new version. Upgrade by hand: stop the program, replace its files, start it.';
  }

  status(): Status {
    const { data: written = NONE } = statusShape.safeParse(parsed(path.join(this.#root, STATUS_FILE)));
    const data = this.#unwritten ?? written;
    if (UNDER_WAY.includes(data.state) && !this.#isWorking(data))
      return { ...data, state: 'failed', reason: 'It was interrupted: begin again.' };
    // The process ended after the link was set, and before this was written.
    if (data.state === 'staged' && data.folder === path.basename(this.#own)) return { ...data, state: 'done' };
    if (data.state === 'done' && data.version !== this.version && !isCurrent(this.#dataDir, data.folder ?? ''))
      return { ...data, state: 'failed', reason: this.#reasonOfReturn(data.folder ?? '') };
    return data;
  }

  #reasonOfReturn(folder: string): string {
    const reason = reasonOfLeaving(this.#dataDir, folder);
    return `The new version did not start; the version before was started again. ${reason ? `${reason} ` : ''}Its log says why.`;
  }

  #isWorking({ pid, changedAt }: Status): boolean {
    if (pid === process.pid) return this.#running !== undefined;
    return isAlive(pid) && changedAt !== null && Date.now() - changedAt.getTime() < SILENT_MS_MAX;
  }

  stage(source: Source): boolean {
    if (this.#running || UNDER_WAY.includes(this.status().state)) return false;
    const abort = new AbortController();
    this.#write({ ...NONE, state: 'downloading' });
    const signs = setInterval(() => this.#write(this.status()), SIGN_OF_LIFE_MS).unref();
    const ended = this.#stage(source, abort.signal)
      .catch((error: unknown) => {
        const reason = abort.signal.aborted ? null : reasonOf(error).slice(0, REASON_CHARS_MAX);
        this.#write({ ...NONE, state: reason === null ? 'cancelled' : 'failed', reason });
        this.#log.warn('upgrade.not_staged', { message: reason ?? 'cancelled' });
      })
      .finally(() => {
        clearInterval(signs);
        this.#running = undefined;
      });
    this.#running = { abort, ended };
    return true;
  }

  async cancel(): Promise<boolean> {
    const running = this.#running;
    running?.abort.abort();
    await running?.ended;
    const { state } = this.status();
    if (running) return true;
    if (state !== 'staged') return false;
    this.#write({ ...NONE, state: 'cancelled' });
    await this.#sweep();
    return true;
  }

  migrationsFolder(): string | undefined {
    const { state, folder } = this.status();
    return state === 'staged' && folder !== null ? path.join(this.#root, folder, 'prisma', 'migrations') : undefined;
  }

  use(): void {
    const status = this.status();
    if (status.state !== 'staged' || status.folder === null) throw new Error('No version is staged.');
    useRelease(this.#dataDir, path.join(this.#root, status.folder), this.#own);
    this.#write({ ...status, state: 'done' });
  }

  async #stage(source: Source, signal: AbortSignal): Promise<void> {
    await this.#sweep();
    const archive = await this.#download(source, signal);
    this.#write({ ...NONE, state: 'checking', sizeBytes: archive.length });
    const digest = createHash('sha256').update(archive).digest('hex');
    if (digest !== source.sha256)
      throw new Error(`Its SHA-256 checksum is ${digest}, and not the one that was given. Do not use this file.`);
    if (!isSignedBy(source.keys, archive, source.signature))
      throw new Error('No release key has signed it. Do not use this file.');
    const { version, root } = await readRelease(archive);
    if (!isNewer(version, this.version))
      throw new Error(`It is version ${version}, which is not newer than ${this.version}.`);
    const name = `${version}-${digest.slice(0, 16)}`;
    const status: Status = { ...NONE, state: 'preparing', version, folder: name, sizeBytes: archive.length };
    this.#write(status);
    const incoming = path.join(this.#root, INCOMING);
    const step = () => signal.throwIfAborted();
    await unpackArchive(archive, { folder: incoming, limits: RELEASE_LIMITS, root, step });
    try {
      await prepareRelease(incoming, this.#own, signal);
      signal.throwIfAborted();
      // Addresses of files are in no generated code, so it may be moved.
      await rm(path.join(this.#root, name), REMOVAL);
      renameSync(incoming, path.join(this.#root, name));
    } catch (error) {
      await rm(incoming, REMOVAL);
      throw error;
    }
    this.#write({ ...status, state: 'staged' });
    this.#log.info('upgrade.staged', { version });
  }

  async #download({ url, allowedHosts }: Source, signal: AbortSignal): Promise<Buffer> {
    const limits = { allowed: allowedHosts, timeoutMs: DOWNLOAD_MS_MAX, bytesMax: ARCHIVE_BYTES_MAX };
    const answer = await openOutbound(url, limits);
    const stop = () => answer.close();
    signal.addEventListener('abort', stop);
    try {
      const chunks: Buffer[] = [];
      let [bytes, shown] = [0, 0];
      for await (const chunk of answer.body) {
        signal.throwIfAborted();
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes - shown < PROGRESS_BYTES) continue;
        shown = bytes;
        this.#write({ ...NONE, state: 'downloading', sizeBytes: bytes });
      }
      signal.throwIfAborted();
      return Buffer.concat(chunks);
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  /** Removes all versions but those that `current` and `former` name, the one that runs, and the one of the status. */
  async #sweep(): Promise<void> {
    if (!existsSync(this.#root)) return;
    const { state, folder } = this.status();
    const kept = new Set(['current', 'former'].map((name) => nameBehind(path.join(this.#root, name))));
    if (state === 'staged') kept.add(folder ?? '');
    kept.add(path.basename(this.#own));
    for (const entry of readdirSync(this.#root, { withFileTypes: true }))
      if (entry.isDirectory() && !kept.has(entry.name)) await rm(path.join(this.#root, entry.name), REMOVAL);
  }

  /** On a full disk it is known to this process only. */
  #write(status: Status): void {
    const now: Status = { ...status, changedAt: new Date(), pid: process.pid };
    const file = path.join(this.#root, STATUS_FILE);
    try {
      mkdirSync(this.#root, { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, `${JSON.stringify(now)}\n`, { mode: 0o600 });
      renameSync(`${file}.new`, file);
      this.#unwritten = undefined;
    } catch (error) {
      this.#unwritten = now;
      this.#log.error('upgrade.status_not_written', { message: messageOf(error) });
    }
  }
}

function reasonOf(error: unknown): string {
  const message = messageOf(error);
  return /ENOSPC|no space left/i.test(message)
    ? `The disk is full. Make room in DATA_DIR, then begin again. ${message}`
    : message;
}

function nameBehind(link: string): string {
  try {
    return path.basename(realpathSync(link));
  } catch {
    return '';
  }
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
