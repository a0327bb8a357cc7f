/**
 * A portion of an enrolment: the next people of the rule, by their ids, as many as the rate allows. Whom the rule does not pick any more is passed
 * over. Entries and the place in the list are one transaction, so a process that dies has done a portion or not.
 */
import { audienceSlice } from '../../audience/segments/segment-read-model.ts';
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import type { TransactionContext } from '../../context.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { enterPeople, type Refusal } from './enter-people.ts';
import { PAUSED_SECONDS, portionOf } from './enrolment.ts';
import type { EnrolmentKey, Refused } from './enrolment-read-model.ts';
import { endEnrolment, lockEnrolment, writePortion, type EnrolmentPortion } from './enrolment-store.ts';
import { refusedAmong } from './entry-refusal-read-model.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';

/** People who are looked at in a portion: one transaction of some 100 ms. */
const PEOPLE_AT_ONCE = 1_000;
/** The reason in the history of runs. */
const ENTERED_BY = 'existing';

interface Asked {
  readonly rule: SegmentRule;
  readonly answers: AnswersByQuestion;
  /** Undefined: by the clock of the database. */
  readonly now: Date | undefined;
}

/** In how many seconds the next portion is; undefined: there is none. */
export async function takePortion(
  ctx: TransactionContext,
  key: EnrolmentKey,
  asked: Asked,
): Promise<number | undefined> {
  const portion = await lockEnrolment(ctx.tx, key);
  if (!portion) return undefined;
  if (portion.automationStatus !== 'active' || portion.liveVersion === null) return PAUSED_SECONDS;
  if (portion.waitSeconds > 0) return portion.waitSeconds;
  const { customerId } = key;
  const live = await liveFlow(ctx, { customerId, automationId: portion.automationId, version: portion.liveVersion });
  if (!live) throw new Error('The live version of an automation is gone.');
  const now = asked.now ?? (await databaseNow(ctx.db));
  const next = await nextPeople(ctx, live, { portion, ...asked, now });
  const allowed = portion.enteredMax - portion.entered;
  if (allowed <= 0 && next.mayEnter.length > 0) {
    await endEnrolment(ctx.db, key, { status: 'failed', reason: 'more_than_confirmed' });
    return undefined;
  }
  const chosen = next.mayEnter.slice(0, Math.min(portionOf(portion.perHour), allowed));
  const left = next.mayEnter[chosen.length];
  const cursor = left === undefined ? next.upTo : left - 1n;
  const { people, refused } = await letIn(ctx, live, { ids: chosen, now });
  const refusedBefore = [...next.refused].flatMap(([id, reason]) => (id <= cursor ? [reason] : []));
  const isLast = left === undefined && next.isLast;
  await writePortion(ctx.tx, key, {
    cursor,
    people,
    refused: added(portion.refused, [...refusedBefore, ...refused]),
    isLast,
  });
  return isLast ? undefined : 0;
}

interface NextPeople {
  /** In the order of their ids. */
  readonly mayEnter: readonly bigint[];
  readonly refused: ReadonlyMap<bigint, Refusal>;
  /** Up to this id all were looked at. */
  readonly upTo: bigint;
  readonly isLast: boolean;
}

/** Who came to the list since it began is not looked at: the triggers let them in. */
async function nextPeople(
  { db }: TransactionContext,
  live: LiveFlow,
  { portion, rule, answers, now }: Asked & { readonly portion: EnrolmentPortion; readonly now: Date },
): Promise<NextPeople> {
  const list = { customerId: live.key.customerId, listId: portion.listId };
  const question = { ...list, rule, answers, asOf: now, afterId: portion.cursor, rows: PEOPLE_AT_ONCE };
  const slice = await audienceSlice(db, question);
  const ids = slice.ids.filter((id) => id <= portion.upTo);
  const refused = await refusedAmong(db, live, { ids, now });
  const upTo = slice.lastId ?? portion.cursor;
  const isLast = slice.isLast || upTo >= portion.upTo;
  return { mayEnter: ids.filter((id) => !refused.has(id)), refused, upTo, isLast };
}

/** The ledger of entries decides: somebody may have entered since the look. */
async function letIn(
  ctx: TransactionContext,
  live: LiveFlow,
  { ids, now }: { readonly ids: readonly bigint[]; readonly now: Date },
): Promise<{ readonly people: number; readonly refused: readonly Refusal[] }> {
  if (ids.length === 0) return { people: 0, refused: [] };
  const entrants = ids.map((personId) => ({ personId, entryKey: '', payload: null, depth: 0, reason: ENTERED_BY }));
  const answers = await enterPeople(ctx, live, { entrants, now });
  const refused = answers.flatMap((answer) => ('refused' in answer ? [answer.refused] : []));
  return { people: answers.length - refused.length, refused };
}

function added(before: Refused, refused: readonly Refusal[]): Refused {
  const counts = new Map(Object.entries(before));
  for (const reason of refused) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Object.fromEntries(counts);
}
