/**
 * Goals and exits of a flow, in the order in which they are asked, and whom they take out before a mail (D79): the follower judges them by
 * each event, but not while the flow is paused or a run is parked.
 */
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import type { TransactionContext } from '../../context.ts';
import { firstOf } from '../runs/first-of.ts';
import { sinceEntry } from '../runs/flow-event.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import type { Run } from '../runs/run.ts';

export type WayOut = LiveFlow['flow']['goals'][number];

/** Goals before exits, each with the reason that the history shows. */
export function waysOut({ flow: { goals, exits } }: LiveFlow) {
  return [
    ...goals.map((way) => ({ way, reason: `goal:${way.id}` })),
    ...exits.map((way) => ({ way, reason: `exit:${way.id}` })),
  ];
}

/** Those about the person. */
export function rulesOfWaysOut({ flow: { goals, exits } }: LiveFlow): readonly SegmentRule[] {
  return [...goals, ...exits].flatMap(({ person }) => person ?? []);
}

interface Leaving {
  readonly runs: readonly Run[];
  /** Of plugins, to the rules. */
  readonly answers: AnswersByQuestion;
  readonly now: Date;
}

/** Why runs leave now, by their ids; the others go on. */
export async function reasonsToLeave(
  ctx: TransactionContext,
  live: LiveFlow,
  { runs, answers, now }: Leaving,
): Promise<ReadonlyMap<bigint, string>> {
  const reasons = new Map<bigint, string>();
  for (const { way, reason } of waysOut(live)) {
    const staying = runs.filter(({ id }) => !reasons.has(id));
    if (staying.length === 0) break;
    const leaving = way.event
      ? await whoDid(ctx, live, way.event, staying)
      : await whoAre(ctx, live, way.person, { runs: staying, answers, now });
    for (const { id } of leaving) reasons.set(id, reason);
  }
  return reasons;
}

async function whoDid(
  ctx: TransactionContext,
  live: LiveFlow,
  asked: NonNullable<WayOut['event']>,
  runs: readonly Run[],
): Promise<readonly Run[]> {
  const searches = runs.map((run) => ({
    ...{ run, runId: run.id, personId: run.personId, ...sinceEntry(run), until: null },
  }));
  return [...(await firstOf(ctx, live, { asked, searches })).keys()].map(({ run }) => run);
}

async function whoAre(
  { db }: TransactionContext,
  { key, listId }: LiveFlow,
  rule: SegmentRule | undefined,
  { runs, answers, now }: Leaving,
): Promise<readonly Run[]> {
  if (!rule) return [];
  const ids = [...new Set(runs.map(({ personId }) => personId))];
  const people = await peopleAmong(db, { customerId: key.customerId, listId, rule }, { ids, asOf: now, answers });
  return runs.filter(({ personId }) => people.has(personId));
}
