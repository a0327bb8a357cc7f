/** The words of whoever waits before a sending server's gate. */
import type { DeliveryReason } from '../delivery-reason.ts';

/** A server that rests may be mended, or another be added: no batch is told to come back later than this. */
export const BATCH_WAIT_SECONDS_MAX = 300;

/** Somebody who waits for a place; `domain` is the part of the address behind the @, as it stands there. */
export interface WaitingRecipient {
  readonly domain: string;
}

/** Why nobody goes for a while: a pace is reached, or the server cannot be used. */
export interface GateStop {
  readonly reason: 'paced' | 'unavailable';
  readonly waitSeconds: number;
}

export interface Held<Recipient> {
  readonly recipient: Recipient;
  readonly delaySeconds: number;
  readonly reason: DeliveryReason;
}
