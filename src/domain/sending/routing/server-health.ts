/**
 * The health of one server and of the providers behind it, as one process knows it. The state is in the database and shared by
 * all workers (hot.sending_health); here is what was last read, and observations that are still to be written: a few times a
 * second at most, and nothing while everything is healthy.
 */
import type { Queryable } from '../../../db/database.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { restsAtOnce, type Trouble } from './health-rules.ts';
import { syncHealth, type GroupReport } from './sending-health-store.ts';

/** The name of the group for the whole server. */
export const WHOLE_SERVER = '';

/** Observations of others are known here this late at most. */
const VIEW_MS = 1_000;
/** Observations are written this often at most. */
const REPORT_INTERVAL_MS = 250;
/** While its messages are in flight it stays the one that tries: renewed in time. */
const RENEWAL_MS = 15_000;
const MESSAGE_LENGTH_MAX = 500;

/** The state of a group. */
export interface SendingHealth {
  /** Seconds of a pause. */
  readonly restSeconds: number;
  /** Free slots; `Infinity` while it is healthy, 0 while another process tries. */
  readonly slots: number;
}

const WELL: SendingHealth = { restSeconds: 0, slots: Infinity };

interface ViewRow {
  readonly state: string;
  readonly restUntil: number;
  /** This process is the one that tries. */
  readonly isMine: boolean;
  readonly slots: number;
}

interface Observation {
  taken: number;
  troubles: number;
  trouble: Trouble | undefined;
}

export class ServerHealth {
  readonly #serverId: bigint;
  readonly #viewMs: number;
  /** Identifies this process where only one may try. */
  readonly #prober = crypto.randomUUID();
  #view = new Map<string, ViewRow>();
  #observations = new Map<string, Observation>();
  #viewedAt = -Infinity;
  #writtenAt = -Infinity;
  #underWay: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Messages in flight to groups that are being tried. */
  readonly #tries = new Map<string, number>();

  constructor(serverId: bigint, viewMs = VIEW_MS) {
    this.#serverId = serverId;
    this.#viewMs = viewMs;
  }

  /** No trouble is known, neither of the server nor of a provider behind it. */
  get isWell(): boolean {
    return this.#view.size === 0;
  }

  healthOf(group: string): SendingHealth {
    const row = this.#view.get(group);
    if (!row) return WELL;
    const restSeconds = Math.max(0, (row.restUntil - performance.now()) / 1_000);
    if (restSeconds > 0 || row.state === 'closed') return { restSeconds, slots: Infinity };
    // Its pause has ended since the last read: the next one decides who tries.
    const slots = row.state === 'half-open' && row.isMine ? row.slots : 0;
    return { restSeconds: 0, slots: Math.max(0, slots - (this.#tries.get(group) ?? 0)) };
  }

  /**
   * Reads the state when it is not known, or when one of the wanted groups may be tried again. A database that is away changes
   * nothing here.
   */
  async refresh(db: Queryable, log: Log, wanted: Iterable<string>): Promise<void> {
    if (this.#underWay) await this.#underWay;
    if (performance.now() - this.#viewedAt > this.#viewMs) await this.#sync(db, log);
    const due = this.isWell ? [] : [...wanted].filter((group) => this.#mayBeTried(group));
    if (due.length > 0) await this.#sync(db, log, due);
  }

  /** Drops what was read: the server was changed, and its troubles may be cleared. */
  lookAgain(): void {
    this.#viewedAt = -Infinity;
  }

  /** A group's messages were accepted. */
  taken(group: string): void {
    // While all is healthy a success changes nothing.
    if (!this.#view.has(group) && !this.#observations.has(group)) return;
    this.#observationOf(group).taken += 1;
  }

  /** A group's message had trouble. */
  trouble(group: string, trouble: Trouble): void {
    const observations = this.#observationOf(group);
    // Several messages in flight fail together when one connection breaks: that counts once.
    observations.troubles = restsAtOnce(trouble) ? 1 : observations.troubles + 1;
    observations.trouble = trouble;
    if (!restsAtOnce(trouble) || this.healthOf(group).restSeconds > 0) return;
    const restUntil = performance.now() + trouble.rule.restMin * 1_000;
    this.#view.set(group, { state: 'open', restUntil, isMine: false, slots: 0 });
  }

  /** A message to an unhealthy group is in flight (1), or has its outcome (-1). */
  trying(group: string, change: 1 | -1): void {
    const tries = (this.#tries.get(group) ?? 0) + change;
    if (tries > 0) this.#tries.set(group, tries);
    else this.#tries.delete(group);
  }

  /** Makes sure that observations are written soon, in the background; returns at once. */
  writeSoon(db: Queryable, log: Log): void {
    if (this.#timer || (this.#observations.size === 0 && this.#tries.size === 0)) return;
    const waitMs = this.#observations.size > 0 ? this.#writtenAt + REPORT_INTERVAL_MS - performance.now() : RENEWAL_MS;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#sync(db, log).then(() => this.writeSoon(db, log));
      },
      Math.max(0, waitMs),
    );
    this.#timer.unref();
  }

  /** Resolves when the observations are in the database, where servers are chosen. */
  async written(db: Queryable, log: Log): Promise<void> {
    // Another who waited as well may have begun to write: then that is what has to end.
    while (this.#underWay) await this.#underWay;
    if (this.#observations.size > 0) await this.#sync(db, log);
  }

  /** Writes the rest of the observations, at the end of the process. */
  async close(db: Queryable, log: Log): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#underWay) await this.#underWay;
    if (this.#observations.size > 0) await this.#sync(db, log);
  }

  #mayBeTried(group: string): boolean {
    const row = this.#view.get(group);
    return row !== undefined && row.state !== 'closed' && !row.isMine && row.restUntil <= performance.now();
  }

  #observationOf(group: string): Observation {
    const observations = this.#observations.get(group) ?? { taken: 0, troubles: 0, trouble: undefined };
    this.#observations.set(group, observations);
    return observations;
  }

  #sync(db: Queryable, log: Log, due: readonly string[] = []): Promise<void> {
    this.#underWay ??= this.#exchange(db, [...due, ...this.#tries.keys()])
      .catch((error: unknown) => log.warn('sending.health_unknown', { message: messageOf(error) }))
      .finally(() => {
        this.#underWay = undefined;
      });
    return this.#underWay;
  }

  async #exchange(db: Queryable, wanted: readonly string[]): Promise<void> {
    const observations = this.#observations;
    this.#observations = new Map();
    this.#writtenAt = performance.now();
    this.#viewedAt = performance.now();
    try {
      const rows = await syncHealth(db, {
        serverId: this.#serverId,
        prober: this.#prober,
        reports: reportsOf(observations),
        wanted,
      });
      this.#view = new Map(
        rows.map(({ group, restSeconds, ...row }) => [
          group,
          { ...row, restUntil: performance.now() + restSeconds * 1_000 },
        ]),
      );
    } catch (error) {
      this.#keep(observations);
      throw error;
    }
    // Observations made meanwhile are not in what was read.
    for (const [group, { trouble }] of this.#observations)
      if (trouble && restsAtOnce(trouble)) this.trouble(group, trouble);
  }

  /** Observations that could not be written are written with the next. */
  #keep(observations: Map<string, Observation>): void {
    for (const [group, { taken, troubles, trouble }] of observations) {
      const now = this.#observationOf(group);
      now.taken += taken;
      now.troubles = Math.max(now.troubles, troubles);
      now.trouble ??= trouble;
    }
  }
}

function reportsOf(observations: ReadonlyMap<string, Observation>): GroupReport[] {
  return [...observations].map(([group, { taken, troubles, trouble }]) => ({
    group,
    taken,
    troubles: trouble ? troubles : 0,
    // A foreign text may contain characters that PostgreSQL's JSON refuses.
    message: trouble?.message.replaceAll('\0', '').slice(0, MESSAGE_LENGTH_MAX).toWellFormed() ?? null,
    rest_min: Math.round(trouble?.rule.restMin ?? 0),
    rest_max: Math.round(trouble?.rule.restMax ?? 0),
    rests_early: trouble?.rule.restsEarly ?? false,
    failures_max: trouble?.rule.failuresMax ?? 1,
    openings_max: trouble?.rule.openingsMax ?? null,
    slots_max: trouble?.rule.slotsMax ?? 1,
  }));
}
