/** Tracking events as tests bring them about: written down and moved on, as the product does in two steps. */
import type { Context } from '../../src/domain/context.ts';
import { appendTrackingEvents } from '../../src/domain/tracking/tracking-event-store.ts';
import { trackingEventsWait } from '../../src/domain/tracking/move-tracking-events-store.ts';
import { moveTrackingEvents } from '../../src/domain/tracking/move-tracking-events.ts';
import { roundsOf } from '../../src/domain/tracking/tracking-event-rounds.ts';
import type { TrackingEvent } from '../../src/domain/tracking/tracking-event.ts';

const STEP_MS = 5;
const ANSWER_DEADLINE_MS = 120_000;

/** Records them all; what they count is there when it resolves. */
export async function recordTrackingEvents(ctx: Context, trackingEvents: readonly TrackingEvent[]): Promise<void> {
  for (const round of roundsOf(trackingEvents)) {
    await appendTrackingEvents(ctx.db, round);
    await moveAll(ctx);
  }
}

/** Moves on what waits; an app that runs may help. */
export async function moveAll(ctx: Context): Promise<void> {
  while (await trackingEventsWait(ctx, 0n)) await moveTrackingEvents(ctx);
}

/** Resolves when everything that was written down is counted, by whoever does that. */
export async function untilCounted(ctx: Pick<Context, 'db'>): Promise<void> {
  const until = performance.now() + ANSWER_DEADLINE_MS;
  while (await trackingEventsWait(ctx, 0n)) {
    if (performance.now() > until) throw new Error('Visits wait and nobody moves them on.');
    await new Promise((resume) => setTimeout(resume, STEP_MS));
  }
}
