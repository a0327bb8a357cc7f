/** Types for recipients that wait at a sending server's gate. */
import type { DeliveryReason } from '../delivery-reason.ts';

/** The longest wait of a batch: a paused server may be repaired, or another added. */
export const BATCH_WAIT_SECONDS_MAX = 300;

/** A recipient that waits; `domain` is the part of the address after the @, unchanged. */
export interface WaitingRecipient {
  readonly domain: string;
  /** When it came to the gate, by `performance.now()`. */
  readonly beganAt?: number | undefined;
}

/** Why nobody may go for a while: a pace is reached, or the server cannot be used. */
export interface GateStop {
  readonly reason: 'paced' | 'unavailable';
  readonly waitSeconds: number;
}

export interface Held<Recipient> {
  readonly recipient: Recipient;
  readonly delaySeconds: number;
  readonly reason: DeliveryReason;
}
