/** Lets people in for whom a trigger has fired: who is one of its `if`, by the rules of entry (D70). Counts by day what came of it. */
import type { TransactionContext } from '../../context.ts';
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import { enterPeople } from '../entries/enter-people.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { addToSlots, type SlotCount } from './trigger-person-store.ts';
import type { TriggerKey, WatchedTrigger } from './watched-trigger.ts';

/** A live trigger at work. */
export interface AtWork<Type extends WatchedTrigger = WatchedTrigger> {
  readonly ctx: TransactionContext;
  readonly live: LiveFlow;
  readonly key: TriggerKey;
  readonly trigger: Type;
  readonly now: Date;
  /** To the questions that its rules put to plugins. */
  readonly answers: AnswersByQuestion;
}

export interface Fired {
  readonly personId: bigint;
  /** The person's day. */
  readonly day: string;
  /** Flows that started one another (D83). */
  readonly depth: number;
}

/** Each person once. `late`: by days, those who are skipped because it is too late (D76). */
export async function enterByTrigger(
  { ctx, live, key, trigger, now, answers }: AtWork,
  fired: readonly Fired[],
  late: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  const counts = new DayCounts();
  for (const [day, people] of late) counts.add(day, 'late', people);
  const matching = await whoMatches({ ctx, live, trigger, now, answers }, fired);
  const entrants = fired.filter(({ personId }) => matching?.has(personId) ?? true);
  for (const { day } of fired) counts.add(day, 'notMatching', 1);
  for (const { day } of entrants) counts.add(day, 'notMatching', -1);
  const given = entrants.map(({ personId, depth }) => ({
    ...{ personId, entryKey: '', payload: null, depth, reason: trigger.type },
  }));
  const results = given.length === 0 ? [] : await enterPeople(ctx, live, { entrants: given, now });
  for (const [no, { day }] of entrants.entries())
    counts.add(day, results[no] && 'runId' in results[no] ? 'entered' : 'refused', 1);
  await addToSlots(ctx.tx, key, counts.all());
}

/** Undefined: everybody. */
async function whoMatches(
  { ctx, live, trigger, now, answers }: Omit<AtWork, 'key'>,
  fired: readonly Fired[],
): Promise<ReadonlySet<bigint> | undefined> {
  if (trigger.if === undefined || fired.length === 0) return undefined;
  const list = { customerId: live.key.customerId, listId: live.listId, rule: trigger.if };
  return peopleAmong(ctx.db, list, { ids: fired.map(({ personId }) => personId), asOf: now, answers });
}

class DayCounts {
  readonly #days = new Map<string, Record<Exclude<keyof SlotCount, 'day'>, number>>();

  add(day: string, what: Exclude<keyof SlotCount, 'day'>, people: number): void {
    const known = this.#days.get(day) ?? { entered: 0, refused: 0, notMatching: 0, late: 0 };
    known[what] += people;
    this.#days.set(day, known);
  }

  /** In one order for all. */
  all(): readonly SlotCount[] {
    return [...this.#days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([day, counts]) => ({ day, ...counts }));
  }
}
