/** What a trigger does with people: it looks at those who changed, or at all, and fires for whom it is time. A batch each time. */
import type { AtWork } from './enter-by-trigger.ts';
import { fireSlots } from './fire-slots.ts';
import { judgePeople } from './judge-people.ts';
import { planPeople } from './plan-people.ts';
import { membersBetween, newAmong, nextPeople, takeChanged, type Change } from './trigger-person-store.ts';
import { writeWalk } from './trigger-store.ts';
import type { WatchedRow } from './watched-trigger.ts';

/** One transaction of some 100 ms. */
export const PEOPLE_AT_ONCE = 1_000;

/** First who came or changed, then the next of all people when they are being looked at, then whose time has come. */
export async function lookAtPeople(work: AtWork, row: WatchedRow): Promise<number> {
  const changed = await takeChanged(work.ctx.tx, row, PEOPLE_AT_ONCE);
  await lookAt(work, row, await toJudge(work, row, changed.people));
  const isBehind = changed.rows === PEOPLE_AT_ONCE;
  if (row.walkAfter !== null && !isBehind) return changed.rows + (await walkOn(work, row, row.walkAfter)).done;
  const { trigger } = work;
  return changed.rows + ('at' in trigger && !isBehind ? await fireSlots({ ...work, trigger }, row, PEOPLE_AT_ONCE) : 0);
}

/**
 * Those who are judged by their own changes, which say whether they enter. A look at all people that lets nobody in has to come first to
 * those who were there before it: they may have been in the segment then.
 */
async function toJudge(
  { ctx }: AtWork,
  row: WatchedRow,
  changed: ReadonlyMap<bigint, Change>,
): Promise<ReadonlyMap<bigint, Change>> {
  const { rule, walkAfter } = row;
  if (rule === null || walkAfter === null || row.walkEnters) return changed;
  const ahead = [...changed.keys()].filter((id) => id > walkAfter);
  const fresh = new Set(await newAmong(ctx.db, row, ahead));
  return new Map([...changed].filter(([id]) => id <= walkAfter || fresh.has(id)));
}

/** Looks at the next of all people. Answers how much it did, and the id up to which it came; null: all were looked at. */
export async function walkOn(
  work: AtWork,
  row: WatchedRow,
  after: bigint,
): Promise<{ readonly done: number; readonly upTo: bigint | null }> {
  const { ctx } = work;
  const next = await nextPeople(ctx.db, row, { after, max: PEOPLE_AT_ONCE });
  const end = next.length < PEOPLE_AT_ONCE ? null : (next.at(-1) ?? null);
  const between = { after, upTo: end, max: PEOPLE_AT_ONCE };
  const members = row.rule === null ? [] : await membersBetween(ctx.db, row, between);
  // Behind the list's last people there may be many more of whom only the trigger knows: they were deleted.
  const upTo = members.length < PEOPLE_AT_ONCE ? end : (members.at(-1) ?? null);
  const change = { since: row.walkFrom, enters: row.walkEnters, depth: 0 };
  const people = new Map([...members, ...next.filter((id) => upTo === null || id <= upTo)].map((id) => [id, change]));
  await lookAt(work, row, people, 'walk');
  await writeWalk(ctx.tx, row, upTo);
  return { done: Math.max(1, people.size), upTo };
}

async function lookAt(
  work: AtWork,
  row: WatchedRow,
  people: ReadonlyMap<bigint, Change>,
  by: 'change' | 'walk' = 'change',
): Promise<void> {
  const { trigger } = work;
  if (people.size === 0) return;
  if ('at' in trigger) return planPeople({ ...work, trigger }, row, people);
  if (row.rule) await judgePeople({ ...work, trigger }, row, { rule: row.rule, people, by });
}
