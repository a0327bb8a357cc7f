/** Connections to the web servers of webhooks: kept open between requests, a few for each server, guarded when they are opened (decision D44). */
import { openOutboundPool, type OutboundPool, type PooledAnswer, type PooledRequest } from '../../lib/outbound-pool.ts';
import { addressGuard } from '../../lib/public-address.ts';
import type { Installation } from '../context.ts';

/** To one server. */
export const CONNECTIONS_MAX = 10;
/** A 2xx within this time is success. */
const TIMEOUT_MS = 10_000;
/** So much of an answer is kept in the log. */
export const ANSWER_BYTES_MAX = 4_096;
/** Servers whose connections are remembered; those that were idle for longest are forgotten first. */
const RECEIVERS_MAX = 500;

interface Known {
  readonly pool: OutboundPool;
  /** What the operator allowed when it was opened. */
  readonly allowed: string;
  running: number;
}

/** Of one process. */
export class ReceiverConnections {
  readonly #known = new Map<string, Known>();
  readonly #installation: Installation;

  constructor(installation: Installation) {
    this.#installation = installation;
  }

  /** Throws NoAnswerError. */
  async request(receiver: string, request: PooledRequest): Promise<PooledAnswer> {
    const known = this.#of(receiver);
    known.running += 1;
    try {
      return await known.pool.request(request);
    } finally {
      known.running -= 1;
      if (this.#known.get(receiver) !== known && known.running === 0) known.pool.close();
    }
  }

  close(): void {
    for (const { pool } of this.#known.values()) pool.close();
    this.#known.clear();
  }

  #of(receiver: string): Known {
    const allowed = this.#installation.outboundAllowHosts ?? [];
    const before = this.#known.get(receiver);
    this.#known.delete(receiver);
    const isCurrent = before?.allowed === allowed.join(',');
    const known = isCurrent ? before : { pool: this.#open(receiver, allowed), allowed: allowed.join(','), running: 0 };
    if (before && !isCurrent && before.running === 0) before.pool.close();
    this.#known.set(receiver, known);
    this.#closeOld();
    return known;
  }

  #open(receiver: string, allowed: readonly string[]): OutboundPool {
    return openOutboundPool(receiver, {
      ...{ connections: CONNECTIONS_MAX, timeoutMs: TIMEOUT_MS, answerBytesMax: ANSWER_BYTES_MAX },
      ...{ guard: addressGuard(allowed), allowed },
    });
  }

  #closeOld(): void {
    for (const [receiver, { pool, running }] of this.#known) {
      if (this.#known.size <= RECEIVERS_MAX) return;
      if (running > 0) continue;
      this.#known.delete(receiver);
      pool.close();
    }
  }
}
