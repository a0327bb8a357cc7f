/** Who has come into a segment, and who has left it (D73): by comparing the rule's answer of now with who was in it before. */
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import { enterByTrigger, type AtWork } from './enter-by-trigger.ts';
import { pendingAmong, removePeople, rememberPeople, type Change } from './trigger-person-store.ts';
import type { SegmentTrigger, WatchedRow } from './watched-trigger.ts';

const DAY_LENGTH = 'YYYY-MM-DD'.length;

export interface Judging {
  readonly rule: SegmentRule;
  /** Those to judge. Who has changed sides enters, by the trigger's type, or is only remembered, as the change says. */
  readonly people: ReadonlyMap<bigint, Change>;
  /** Because they changed, or by a look at all people: that leaves those who are about to be judged by their own changes. */
  readonly by: 'change' | 'walk';
}

/** Whose memory is written decides who enters: repeating it enters nobody again. */
export async function judgePeople(
  work: AtWork<SegmentTrigger>,
  row: WatchedRow,
  { rule, people, by }: Judging,
): Promise<void> {
  const asked = [...people.keys()];
  const { ctx, live, key, trigger, now, answers } = work;
  const list = { customerId: live.key.customerId, listId: live.listId, rule };
  const inside = await peopleAmong(ctx.db, list, { ids: asked, asOf: now, answers });
  // After the rule's answer: a change that it has seen is among these.
  const pending = new Set(by === 'walk' ? await pendingAmong(ctx.db, row, asked) : []);
  const ids = asked.filter((id) => !pending.has(id));
  const came = await rememberPeople(
    ctx.tx,
    key,
    ids.filter((id) => inside.has(id)),
  );
  const left = await removePeople(
    ctx.tx,
    key,
    ids.filter((id) => !inside.has(id)),
  );
  const day = now.toISOString().slice(0, DAY_LENGTH);
  const fired = (trigger.type === 'segment_entered' ? came : left).flatMap((personId) => {
    const { enters = false, depth = 0 } = people.get(personId) ?? {};
    return enters ? [{ personId, day, depth }] : [];
  });
  if (fired.length > 0) await enterByTrigger(work, fired);
}
