/** When a date or a timetable fires next for people: computed when they come, change or all are looked at, and kept until then. */
import { messageOf } from '../../../lib/errors.ts';
import { nextSlot, type Slot } from './next-slot.ts';
import { removePeople, knownPeople, writePlans, type Change, type Plan } from './trigger-person-store.ts';
import type { AtWork } from './enter-by-trigger.ts';
import type { TimedTrigger, WatchedRow } from './watched-trigger.ts';
import { zoneOf } from '../runs/zones.ts';
import type { RunPerson } from '../runs/run.ts';

/**
 * Plans anew for these people: each gets the next slot after its change. What has come already by then stays, and is about to
 * fire. A changed date or zone moves the time (D76).
 */
export async function planPeople(
  work: AtWork<TimedTrigger>,
  row: WatchedRow,
  people: ReadonlyMap<bigint, Change>,
): Promise<void> {
  const { ctx } = work;
  const known = await knownPeople(ctx.db, row, [...people.keys()]);
  const present = new Set(known.map(({ personId }) => personId));
  await removePeople(
    ctx.tx,
    row,
    [...people.keys()].filter((id) => !present.has(id)),
  );
  const plans = known.flatMap(({ personId, fields, ...was }): Plan[] => {
    const asked = people.get(personId)?.since ?? row.walkFrom;
    const after = asked < row.startedAt ? row.startedAt : asked;
    if (was.dueAt && was.dueAt > row.startedAt && was.dueAt <= after) return [];
    const slot = slotAfter({ work, row }, { personId, fields }, { after: after.getTime(), firedOn: was.firedOn });
    const dueAt = slot ? new Date(slot.at) : null;
    if (dueAt?.getTime() === was.dueAt?.getTime() && (slot?.day ?? null) === was.dueOn) return [];
    return [{ personId, dueAt, dueOn: slot?.day ?? null, firedOn: was.firedOn }];
  });
  await writePlans(ctx.tx, row, plans);
}

/** The person's next slot. Whose slot cannot be computed has none until a change: one person stops no trigger for all others. */
export function slotAfter(
  { work, row }: { readonly work: AtWork<TimedTrigger>; readonly row: WatchedRow },
  person: Pick<RunPerson, 'fields'> & { readonly personId: bigint },
  from: { readonly after: number; readonly firedOn: string | null },
): Slot | undefined {
  const { ctx, key, trigger } = work;
  const value = trigger.type === 'date_field' ? person.fields[trigger.field] : undefined;
  try {
    return nextSlot(trigger, { zone: zoneOf(row.zones, person), value, ...from });
  } catch (error) {
    ctx.log.warn('automations.person_not_planned', { ...key, personId: person.personId, message: messageOf(error) });
    return undefined;
  }
}
