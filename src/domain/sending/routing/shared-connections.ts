/**
 * Reads and writes the number of connections that a server's processes share (hot.sending_connections), for one of them. A version
 * keeps two changes from overwriting each other; a cut holds whatever others changed.
 */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import type { Growth } from './connection-growth.ts';
import { lowerNumber, readNumber, writeNumber, type SharedNumber } from './connections-store.ts';

interface Sharer {
  readonly ctx: Pick<Context, 'database' | 'log'>;
  readonly serverId: bigint;
  /** The number as this process has it. */
  growth(): Growth;
  /** Uses what was read; `isNew`: another process has changed it. */
  adopt(shared: SharedNumber, isNew: boolean): void;
}

/** Changes by other processes are known here this late at most. */
const READ_MS = 1_000;

export class SharedConnections {
  readonly #sharer: Sharer;
  /** Names this process where only one raises the number. */
  readonly #decider = crypto.randomUUID();
  #version = 0;
  #readAt = -Infinity;
  #isSyncing = false;
  /** The number of this process is not in the database yet. */
  #isUnwritten = false;
  /** What is not written, or being written, is a cut. */
  #isCut = false;
  #isWriting = false;
  #isDecider = false;

  constructor(sharer: Sharer) {
    this.#sharer = sharer;
  }

  /** The number must be read again. */
  get isOld(): boolean {
    return performance.now() - this.#readAt >= READ_MS;
  }

  /** What is being written or read may be another number. */
  get isChanging(): boolean {
    return this.#isSyncing || this.#isUnwritten;
  }

  /** This process may raise the number. */
  get mayRaise(): boolean {
    return this.#isDecider && !this.isChanging;
  }

  writeSoon({ isCut }: { isCut: boolean }): void {
    this.#isUnwritten = true;
    this.#isCut ||= isCut;
    this.syncSoon();
  }

  /** Writes what has changed, or reads; one statement at a time. What fails is repeated with the next messages. */
  syncSoon(): void {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    void this.#sync()
      .catch((error: unknown) => {
        this.#isUnwritten ||= this.#isWriting;
        this.#sharer.ctx.log.warn('sending.connections_unknown', { message: messageOf(error) });
      })
      .finally(() => {
        this.#isWriting = false;
        this.#isSyncing = false;
      });
  }

  async #sync(): Promise<void> {
    if (!this.#isUnwritten) await this.#read();
    while (this.#isUnwritten) {
      this.#isUnwritten = false;
      this.#isWriting = true;
      const isAsHere = await this.#write();
      this.#isWriting = false;
      if (!isAsHere) await this.#read();
    }
  }

  async #read(): Promise<void> {
    const { ctx, serverId } = this.#sharer;
    this.#readAt = performance.now();
    const shared = await readNumber(ctx.database, { serverId, decider: this.#decider });
    if (!shared) return;
    const isNew = shared.version !== this.#version;
    this.#version = shared.version;
    this.#isDecider = shared.isMine;
    // A cut meanwhile is written on top of what was read.
    if (!this.#isUnwritten) this.#sharer.adopt(shared, isNew);
  }

  /** False: another process has changed it meanwhile, so that it must be read. */
  async #write(): Promise<boolean> {
    const { ctx, serverId } = this.#sharer;
    const { connections, ceiling, heldUntil, holdMs } = this.#sharer.growth();
    const heldMs = heldUntil === null ? null : heldUntil - performance.now();
    const version = this.#version;
    const number = { connections, ceiling, heldMs, holdMs, version };
    const isCut = this.#isCut;
    const isAsHere = await (isCut ? lowerNumber : writeNumber)(ctx.database, serverId, number);
    // A cut while this was written is written next.
    if (!this.#isUnwritten) this.#isCut = false;
    if (isAsHere) this.#version = version + 1;
    return isAsHere;
  }
}
