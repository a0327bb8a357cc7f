/**
 * How many bytes of requests a process keeps: who knows the key of a server, as the customer who owns it, can send genuine requests without end, and
 * old ones are deleted only each hour.
 */
const HOUR_MS = 3_600_000;

export interface BytesAnHour {
  readonly ofServer: number;
  readonly inAll: number;
}

/** A quarter of what is kept of a server in all: a hundred million events a week are half of it. */
export const KEPT_AN_HOUR: BytesAnHour = { ofServer: 536_870_912, inAll: 2_147_483_648 };

export class HourlyBytes {
  readonly #max: BytesAnHour;
  readonly #ofServer = new Map<bigint, number>();
  #inAll = 0;
  #beganAt = performance.now();

  constructor(max: BytesAnHour) {
    this.#max = max;
  }

  /** Whether so many more may be kept: then they count. */
  take(serverId: bigint, bytes: number): boolean {
    if (performance.now() - this.#beganAt >= HOUR_MS) this.#begin();
    const ofServer = (this.#ofServer.get(serverId) ?? 0) + bytes;
    if (ofServer > this.#max.ofServer || this.#inAll + bytes > this.#max.inAll) return false;
    this.#ofServer.set(serverId, ofServer);
    this.#inAll += bytes;
    return true;
  }

  #begin(): void {
    this.#ofServer.clear();
    this.#inAll = 0;
    this.#beganAt = performance.now();
  }
}
