/**
 * Due subscriptions of which a vendor has to say first whether they were paid. Each gateway has places and time of its own in a run, so that one that
 * does not answer keeps up only its own subscriptions; those come in turn.
 */
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { FRESH_MS } from '../subscriptions/read-before-end.ts';
import { noteVendorAsked } from '../subscriptions/subscription-store.ts';
import { waitingAtVendors, type WaitingAtVendor } from './unread-at-vendors-read-model.ts';

export interface AskLimits {
  /** Asked at the same time at one gateway. */
  readonly places: number;
  /** After this time none is begun any more; the next run goes on. */
  readonly askMsMax: number;
}

/**
 * Vendors allow some 25 requests a second for each account, and the sync of payments needs some of them. A run begins each five
 * minutes, and a call may take 30 seconds.
 */
export const ASK_LIMITS: AskLimits = { places: 4, askMsMax: 120_000 };
/** Of one gateway in a run: more are not asked in that time. */
const WAITING_MAX = 2_000;

type Key = Pick<WaitingAtVendor, 'customerId' | 'id'>;

/** Lets `act`, which never rejects, ask about each of them; all gateways at the same time. Nothing on hold: what vendors keep is the original's. */
export async function askVendors(ctx: Context, limits: AskLimits, act: (key: Key) => Promise<void>): Promise<void> {
  if (await installationHold(ctx.db)) return;
  const at = ctx.clock.now();
  const readSince = new Date(at.getTime() - FRESH_MS);
  const waiting = Map.groupBy(
    await waitingAtVendors(ctx.db, { at, readSince, max: WAITING_MAX }),
    ({ gatewayId }) => gatewayId,
  );
  await Promise.all([...waiting.values()].map((keys) => askInPlaces(ctx, keys, limits, act)));
}

/** The first ones of all places are asked in any case. */
async function askInPlaces(
  ctx: Context,
  keys: WaitingAtVendor[],
  { places, askMsMax }: AskLimits,
  act: (key: Key) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  const place = async () => {
    for (let key = keys.shift(); key; key = keys.shift()) {
      await noteVendorAsked(ctx.db, key, ctx.clock.now());
      await act(key);
      if (performance.now() - began >= askMsMax) return;
    }
  };
  await Promise.all(Array.from({ length: places }, place));
}
