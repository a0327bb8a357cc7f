/**
 * The gate of a sending server: what a sending loop asks before messages are handed over, and tells when they have
 * ended. Whatever holds mail back (the server's pace, its health, limits of a recipient's domain) speaks here, so the
 * loop knows none of it. A gate never sleeps: who may not go now is told when to come again.
 */
import type { SendingError } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { quotaWaitSeconds, takeQuota, type SendingQuota } from './take-quota.ts';
import { Trouble } from './trouble.ts';

/** Somebody who waits for a place; `domain` is the part of the address behind the @, as it stands there. */
export interface GateGuest {
  readonly domain: string;
}

/** Why nobody goes for a while: a pace is reached, or the server cannot be used. */
export interface GateStop {
  readonly reason: 'paced' | 'unavailable';
  readonly waitSeconds: number;
}

/** Each guest is in `go`, in `later`, or behind a `stop`: whoever is in neither list stays with the loop, which ends. */
export interface Admission<Guest> {
  /** They have a place each, given back by `ended` or, unused, by `withdraw`. */
  readonly go: readonly Guest[];
  /** They go back into the ledger until then; `reason` is for its reader. */
  readonly later: readonly { readonly guest: Guest; readonly delaySeconds: number; readonly reason: string }[];
  readonly stop: GateStop | undefined;
}

export interface SendingGate {
  /** What is known to hold everybody back, before anybody is leased. Takes nothing. */
  obstacle(ctx: Context): Promise<GateStop | undefined>;
  /** Takes places for as many of a customer's guests as may go now. */
  admit<Guest extends GateGuest>(ctx: Context, customerId: bigint, guests: readonly Guest[]): Promise<Admission<Guest>>;
  /**
   * Tells how one that went has ended; `error` is undefined when the server took the message. Answers whether the
   * loop must stop. Cheap: news is gathered, not written one by one.
   */
  ended(ctx: Context, guest: GateGuest, error: SendingError | undefined): GateStop | undefined;
  /** Gives back places of guests that were not handed over after all. */
  withdraw(guests: readonly GateGuest[]): void;
}

/** The gate of one process for one server: its pace by the database, its troubles by what this process sees. */
export function createSendingGate(server: { serverId: bigint; quota: SendingQuota | null }): SendingGate {
  const trouble = new Trouble();
  const { serverId, quota } = server;
  return {
    async obstacle(ctx) {
      const troubleSeconds = trouble.remainingSeconds();
      if (troubleSeconds > 0) return { reason: 'unavailable', waitSeconds: troubleSeconds };
      const waitSeconds = quota ? await quotaWaitSeconds(ctx.db, { serverId, quota }) : 0;
      return waitSeconds > 0 ? { reason: 'paced', waitSeconds } : undefined;
    },
    async admit(ctx, _customerId, guests) {
      if (quota === null) return { go: guests, later: [], stop: undefined };
      const { granted, waitSeconds } = await takeQuota(ctx.db, { serverId, quota }, guests.length);
      const stop = granted < guests.length ? ({ reason: 'paced', waitSeconds } as const) : undefined;
      return { go: guests.slice(0, granted), later: [], stop };
    },
    ended(_ctx, _guest, error) {
      if (error === undefined) trouble.clear();
      if (error?.kind !== 'unavailable') return undefined;
      return { reason: 'unavailable', waitSeconds: trouble.note() };
    },
    withdraw() {
      // A token of a pace that was not used is lost: the pace is a little lower for a moment, never higher.
    },
  };
}
