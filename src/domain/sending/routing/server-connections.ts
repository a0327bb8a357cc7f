/**
 * The number of connections of one server, as one process uses it. All processes share the number (shared-connections.ts), and each
 * uses an equal part. One of them raises it by what it observes; any lowers it. The rules are in connection-growth.ts.
 */
import type { SendingDriver } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { GONE_SECONDS } from '../../../lib/process-id.ts';
import type { FairPermits } from '../fair-permits.ts';
import {
  afterPushBack,
  afterRound,
  connectionsWithin,
  firstGrowth,
  shareOf,
  type Growth,
  type Round,
} from './connection-growth.ts';
import type { SharedNumber } from './connections-store.ts';
import { SendingRound } from './sending-round.ts';
import { SharedConnections } from './shared-connections.ts';

interface ServerConnectionsInput {
  readonly ctx: Pick<Context, 'database' | 'log'>;
  readonly serverId: bigint;
  /** The server's largest number, over all processes. */
  readonly max: number;
  /** Else the number is fixed: always the largest. */
  readonly isGrowing: boolean;
  readonly driver: Pick<SendingDriver, 'capacity' | 'useConnections'>;
  readonly permits: FairPermits;
  /** When this process began to send, by `performance.now()`. */
  readonly startedAt: number;
}

/** Others have read by then that a new process shares the number, and ended connections that are too many. */
const JOIN_MS = 2_000;
/** After the database was away for long: the next heartbeats of all others have come by then. */
const JOIN_AGAIN_MS = 5_000;

export class ServerConnections {
  readonly #input: ServerConnectionsInput;
  readonly #round: SendingRound;
  readonly #shared: SharedConnections;
  #growth: Growth = firstGrowth();
  #processes = 1;
  /** For how long others can have known this process. */
  #knownMs: number | null = null;
  #wasKnown = false;
  /** Since the latest cut. */
  #hasAccepted = false;

  constructor(input: ServerConnectionsInput) {
    this.#input = input;
    this.#round = new SendingRound(input.permits);
    this.#shared = new SharedConnections({
      ctx: input.ctx,
      serverId: input.serverId,
      growth: () => this.#growth,
      adopt: (shared, isNew) => this.#adopt(shared, isNew),
    });
  }

  /** What was read with the server for a new batch. */
  seen({ connections, processes, knownMs }: Pick<SharedNumber, 'connections' | 'processes' | 'knownMs'>): void {
    if (this.#input.permits.inFlight === 0) this.#round.begin();
    // What this process has read or decided itself is newer.
    if (!this.#shared.isOld || this.#shared.isChanging) return;
    this.#seeProcesses({ processes, knownMs });
    if (connections !== this.#growth.connections) this.#growth = { ...this.#growth, connections, mark: null };
    this.#use();
  }

  /** The server accepted a message that began then. Called for each one. */
  accepted(beganAt: number): void {
    if (!this.#input.isGrowing) return;
    // One that began before says nothing about the number after the cut, nor whether the server takes mail again.
    if (beganAt > this.#growth.cutAt) {
      this.#hasAccepted = true;
      this.#round.accepted();
    }
    if (this.#shared.isOld) return this.#shared.syncSoon();
    const round = this.#round.endedBy(performance.now());
    if (round && this.#shared.mayRaise && !this.#isJoining) this.#judge(round);
  }

  /** The server showed that it is asked too much; what was refused began then. */
  pushedBack(beganAt: number): void {
    if (!this.#input.isGrowing) return;
    const pushBack = { at: performance.now(), beganAt, hasAccepted: this.#hasAccepted };
    const next = afterPushBack(this.#growth, pushBack, this.#bounds);
    if (next === this.#growth) return;
    this.#hasAccepted = false;
    const { connections: from } = this.#growth;
    this.#take(next);
    const { ctx, serverId } = this.#input;
    if (next.connections < from) ctx.log.info('sending.connections_lowered', { serverId, from, to: next.connections });
    this.#shared.writeSoon({ isCut: true });
  }

  get #bounds() {
    return { max: this.#input.max, processes: this.#processes };
  }

  #judge(round: Round): void {
    const { connections, ceiling, heldUntil } = this.#growth;
    this.#growth = afterRound(this.#growth, round, this.#bounds);
    const next = this.#growth;
    if (next.connections === connections && next.ceiling === ceiling && next.heldUntil === heldUntil) return;
    this.#take(this.#growth);
    this.#shared.writeSoon({ isCut: false });
  }

  /** Uses another number from now on. */
  #take(growth: Growth): void {
    this.#growth = growth;
    this.#use();
    this.#round.begin();
  }

  /** Tells driver and permits this process's part. Connections of a fixed number stay: only the messages at once are shared. */
  #use(): void {
    const { driver, max, isGrowing, permits } = this.#input;
    const number = isGrowing ? connectionsWithin(this.#growth.connections, max) : max;
    const share = isGrowing && this.#isJoining ? 1 : shareOf(number, this.#processes);
    if (isGrowing) driver.useConnections?.(share);
    permits.resize(isGrowing ? driver.capacity : Math.max(1, Math.floor((driver.capacity * share) / max)));
  }

  /** The others may not have made room yet; or it was unknown for a while, and so may they be. */
  get #isJoining(): boolean {
    const runsMs = performance.now() - this.#input.startedAt;
    if (this.#knownMs === null) return this.#wasKnown || runsMs < JOIN_MS;
    if (this.#knownMs < JOIN_AGAIN_MS && runsMs > this.#knownMs + GONE_SECONDS * 1_000) return true;
    return this.#processes > 1 && this.#knownMs < JOIN_MS;
  }

  #seeProcesses({ processes, knownMs }: Pick<SharedNumber, 'processes' | 'knownMs'>): void {
    this.#processes = processes;
    this.#knownMs = knownMs;
    this.#wasKnown ||= knownMs !== null;
  }

  #adopt({ connections, ceiling, heldMs, holdMs, processes, knownMs }: SharedNumber, isNew: boolean): void {
    const before = this.#growth;
    const isOthers = isNew || connections !== before.connections;
    const hasChanged = isOthers || processes !== this.#processes;
    const now = performance.now();
    const heldUntil = heldMs === null ? null : now + heldMs;
    const isCut = connections < before.connections || (ceiling !== null && heldUntil === null);
    const cutAt = isCut ? now : before.cutAt;
    if (isOthers) this.#growth = { ...firstGrowth(), connections, ceiling, holdMs, heldUntil, cutAt };
    this.#seeProcesses({ processes, knownMs });
    if (hasChanged) this.#take({ ...this.#growth, mark: null });
    else this.#use();
  }
}
