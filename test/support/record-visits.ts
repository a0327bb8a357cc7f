/** Visits as tests bring them about: written down and moved on, as the product does in two steps. */
import type { Context } from '../../src/domain/context.ts';
import { appendVisits } from '../../src/domain/tracking/append-visits.ts';
import { moveVisits, visitsWait } from '../../src/domain/tracking/move-visits.ts';
import { roundsOf } from '../../src/domain/tracking/visit-rounds.ts';
import type { Visit } from '../../src/domain/tracking/visit.ts';

const STEP_MS = 5;
const PATIENCE_MS = 60_000;

/** Records them all; what they count is there when it resolves. */
export async function recordVisits(ctx: Context, visits: readonly Visit[]): Promise<void> {
  for (const round of roundsOf(visits)) {
    await appendVisits(ctx.db, round);
    await moveAll(ctx);
  }
}

/** Moves on what waits; an app that runs may help. */
export async function moveAll(ctx: Context): Promise<void> {
  while (await visitsWait(ctx, 0n)) await moveVisits(ctx);
}

/** Resolves when everything that was written down is counted, by whoever does that. */
export async function untilCounted(ctx: Pick<Context, 'db'>): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (await visitsWait(ctx, 0n)) {
    if (performance.now() > until) throw new Error('Visits wait and nobody moves them on.');
    await new Promise((resume) => setTimeout(resume, STEP_MS));
  }
}
