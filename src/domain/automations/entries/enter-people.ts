/** Lets people into a flow: who may enter gets a run at the first node; everybody else gets the reason (D70). */
import type { TransactionContext } from '../../context.ts';
import { peopleById } from '../../audience/people-store.ts';
import { blockedPeopleMailJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { blockedAmong, blockPeople, entriesSince, writeEntries } from './entry-store.ts';
import type { Entry } from '../flow/flow-triggers.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import { firstNode, type LiveFlow } from '../runs/live-flow.ts';
import { placeAt } from '../runs/place-at.ts';
import type { Place, RunPerson } from '../runs/run.ts';
import { insertRuns, type NewRun } from '../runs/new-run-store.ts';
import { fireForArrivals } from '../work/fire-webhooks.ts';
import { findByKeys } from '../runs/run-store.ts';
import { wakeFlows } from '../runs/wake-flows.ts';
import { zonesOfList } from '../runs/version-read-model.ts';

/** More entries of one person into one flow in a day are a loop (D83). */
const ENTRIES_A_DAY_MAX = 20;
/** Flows that start one another (D83). */
export const DEPTH_MAX = 5;
const DAY_MS = 86_400_000;
const BLOCKED_MAIL_SECONDS = 60;

export interface Entrant {
  readonly personId: bigint;
  /** Of the flow's key; empty: it has none. */
  readonly entryKey: string;
  readonly payload: FlowPayload | null;
  readonly depth: number;
  /** The type of the trigger, or `execute`. */
  readonly reason: string;
  /** When the event happened that brought the person; absent: now. Waits count from then, however late it was read. */
  readonly at?: Date;
  /** The event that brought the person: goals and exits count from it on. */
  readonly event?: { readonly id: bigint; readonly at: Date };
}

export const REFUSALS = [
  ...([
    'unknown_person',
    'not_subscribed',
    'suppressed',
    'entered_before',
    'in_flow',
    'too_soon',
    'key_entered',
    'too_often',
  ] as const),
  ...(['too_deep', 'no_key'] as const),
] as const;
export type Refusal = (typeof REFUSALS)[number];

export type EntryAnswer = { readonly runId: bigint } | { readonly refused: Refusal };

/** For each of `entrants` whether it entered, in their order. */
export async function enterPeople(
  ctx: TransactionContext,
  live: LiveFlow,
  { entrants: given, now }: { readonly entrants: readonly Entrant[]; readonly now: Date },
): Promise<readonly EntryAnswer[]> {
  const { key, listId, flow } = live;
  const entrants = flow.entry.mode === 'per_key' ? given : given.map((one) => ({ ...one, entryKey: '' }));
  await findByKeys(ctx.tx);
  const ids = [...new Set(entrants.map(({ personId }) => personId))];
  const people = await peopleById(ctx.db, { customerId: key.customerId, listId, ids });
  const since = new Date(now.getTime() - DAY_MS);
  const mayRepeat = flow.entry.mode !== 'once';
  const seen = new Set<string>();
  const refusals = entrants.map((one): Refusal | undefined => {
    const refusal = refusalOf(one, live, people.get(one.personId));
    if (refusal) return refusal;
    const name = nameOf(one);
    if (seen.has(name)) return refusalBy(flow.entry);
    seen.add(name);
    return undefined;
  });
  const applicants = entrants.filter((_one, no) => refusals[no] === undefined);
  const timed = applicants.map((one) => ({ ...one, at: one.at ?? now }));
  const blocked = new Set(mayRepeat ? await blockedAmong(ctx.db, key, ids) : []);
  const counted = mayRepeat ? await entriesSince(ctx.db, key, { ids, since }) : [];
  const before = [...counted, ...[...blocked].map((personId) => ({ personId, entries: ENTRIES_A_DAY_MAX }))];
  const { runIds, tooOften } = await entriesOf(ctx, live, { applicants: timed, before });
  await blockWhoRepeats(
    ctx,
    key,
    timed.filter((one) => tooOften.has(nameOf(one)) && !blocked.has(one.personId)),
  );
  const runs = await newRuns(ctx, live, timed, { people, runIds });
  await insertRuns(ctx.tx, key, runs);
  await fireForArrivals(ctx, live, runs);
  if (runs.some(({ to }) => to.state === 'due')) await wakeFlows(ctx.tx);
  return entrants.map((one, no) => {
    const refused = refusals[no];
    if (refused) return { refused };
    if (tooOften.has(nameOf(one))) return { refused: 'too_often' };
    const runId = runIds.get(nameOf(one));
    return runId === undefined ? { refused: refusalBy(flow.entry) } : { runId };
  });
}

interface Applying {
  readonly applicants: readonly (Entrant & { readonly at: Date })[];
  /** How often people entered within the last day. */
  readonly before: readonly { readonly personId: bigint; readonly entries: number }[];
}

/**
 * Writes the entries, of each person as many as there is room for in the day; those whose key refuses take no room, so it may take
 * several statements. `runIds` and `tooOften`: by `nameOf`.
 */
async function entriesOf(ctx: TransactionContext, { key, flow }: LiveFlow, { applicants, before }: Applying) {
  const counts = new Map(before.map(({ personId, entries }) => [personId, entries]));
  const runIds = new Map<string, bigint>();
  let waiting = applicants;
  for (;;) {
    const ofPerson = new Map<bigint, number>();
    const next = waiting.filter(({ personId }) => {
      const no = (ofPerson.get(personId) ?? 0) + 1;
      ofPerson.set(personId, no);
      return (counts.get(personId) ?? 0) + no <= ENTRIES_A_DAY_MAX;
    });
    if (next.length === 0) return { runIds, tooOften: new Set(waiting.map(nameOf)) };
    for (const one of await writeEntries(ctx.db, key, { applicants: next, entry: flow.entry })) {
      runIds.set(nameOf(one), one.runId);
      counts.set(one.personId, (counts.get(one.personId) ?? 0) + 1);
    }
    const asked = new Set(next);
    waiting = waiting.filter((one) => !asked.has(one));
  }
}

/** They enter no more until somebody has looked at it: more than that is a loop (D83). */
async function blockWhoRepeats(
  { db, tx }: TransactionContext,
  key: LiveFlow['key'],
  people: readonly { readonly personId: bigint }[],
): Promise<void> {
  if (people.length === 0) return;
  await blockPeople(db, key, [...new Set(people.map(({ personId }) => personId))]);
  const automation = { customerId: String(key.customerId), automationId: String(key.automationId) };
  // One mail for all who are blocked in a minute.
  const options = { key: `${blockedPeopleMailJob.name} ${key.automationId}`, delaySeconds: BLOCKED_MAIL_SECONDS };
  await enqueue(tx, blockedPeopleMailJob, automation, options);
}

function nameOf({ personId, entryKey }: Pick<Entrant, 'personId' | 'entryKey'>): string {
  return `${personId} ${entryKey}`;
}

function refusalOf(
  { entryKey, depth }: Entrant,
  { flow }: LiveFlow,
  person: RunPerson | undefined,
): Refusal | undefined {
  if (!person) return 'unknown_person';
  if (depth > DEPTH_MAX) return 'too_deep';
  if (flow.entry.mode === 'per_key' && entryKey === '') return 'no_key';
  const isForLeavers = flow.triggers.some(({ type }) => type === 'unsubscribed');
  if (isForLeavers) return undefined;
  if (person.status !== 'subscribed') return 'not_subscribed';
  return person.isSuppressed ? 'suppressed' : undefined;
}

/** Why the key of the entry refused. */
function refusalBy({ mode }: Entry): Refusal {
  if (mode === 'once') return 'entered_before';
  if (mode === 'per_key') return 'key_entered';
  return mode === 'after_end' ? 'in_flow' : 'too_soon';
}

interface Entering {
  readonly people: ReadonlyMap<bigint, RunPerson>;
  readonly runIds: ReadonlyMap<string, bigint>;
}

async function newRuns(
  ctx: TransactionContext,
  live: LiveFlow,
  applicants: readonly (Entrant & { readonly at: Date })[],
  { people, runIds }: Entering,
): Promise<readonly NewRun[]> {
  const first = firstNode(live);
  const zones = await zonesOfList(ctx.db, { customerId: live.key.customerId, listId: live.listId });
  if (!first || !zones) return [];
  return applicants.flatMap((one) => {
    const id = runIds.get(nameOf(one));
    const person = people.get(one.personId);
    if (id === undefined || !person) return [];
    const passes = live.repeated.has(first.id) ? { [first.id]: 1 } : null;
    const run = {
      ...{ id, personId: one.personId, enteredAt: one.at, since: one.at, depth: one.depth, failures: 0 },
      ...{ eventsFrom: one.event?.at ?? one.at, eventsAfter: one.event?.id ?? 0n },
      ...{ entryKey: one.entryKey, passes, hasLeft: person.status !== 'subscribed', reason: null, steps: 1 },
    };
    return [
      { run, to: placeOnEntry(first, { live, zones, person, now: one.at }), payload: one.payload, reason: one.reason },
    ];
  });
}

/**
 * Whoever waits for a date of a field is at work first: the follower sees the run only after this transaction, and a date that changes meanwhile
 * would be seen by nobody (D76).
 */
function placeOnEntry(first: FlowNode, arrival: Parameters<typeof placeAt>[1]): Place {
  if (first.type !== 'wait_until' || first.field === undefined) return placeAt(first, arrival);
  return { node: first.id, state: 'due', wakeAt: arrival.now };
}
