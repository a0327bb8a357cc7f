/** Fires the slots of dates and timetables that have come: people enter, and get their next slot. More than a day late is skipped (D76). */
import { enterByTrigger, type AtWork, type Fired } from './enter-by-trigger.ts';
import type { Slot } from './next-slot.ts';
import { slotAfter } from './plan-people.ts';
import { duePeople, removePeople, writePlans } from './trigger-person-store.ts';
import { LATE_MS } from '../flow/wake-time.ts';
import type { TimedTrigger, WatchedRow } from './watched-trigger.ts';

/** How many people it looked at, at most `max`. The row of each says which day fired last, so none fires twice. */
export async function fireSlots(work: AtWork<TimedTrigger>, row: WatchedRow, max: number): Promise<number> {
  const { ctx, now } = work;
  const due = await duePeople(ctx.db, row, { now, max });
  const here = due.flatMap(({ fields, ...one }) => (fields ? [{ ...one, person: { fields } }] : []));
  const gone = due.filter(({ fields }) => !fields).map(({ personId }) => personId);
  const late = new Map<string, number>();
  const fired: Fired[] = [];
  const plans = here.map(({ personId, person, dueAt, dueOn }) => {
    let slot: Slot | undefined = { day: dueOn, at: dueAt.getTime() };
    let firedOn = dueOn;
    const next = (at: number) => slotAfter({ work, row }, { personId, ...person }, { after: at, firedOn });
    while (slot && now.getTime() - slot.at > LATE_MS) {
      firedOn = slot.day;
      late.set(slot.day, (late.get(slot.day) ?? 0) + 1);
      slot = next(slot.at);
    }
    if (slot && slot.at <= now.getTime()) {
      firedOn = slot.day;
      fired.push({ personId, day: slot.day, depth: 0 });
      slot = next(slot.at);
    }
    return { personId, dueAt: slot ? new Date(slot.at) : null, dueOn: slot?.day ?? null, firedOn };
  });
  await enterByTrigger(work, fired, late);
  await writePlans(ctx.tx, row, plans);
  await removePeople(ctx.tx, row, gone);
  return due.length;
}
