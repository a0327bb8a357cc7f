/**
 * When people would have come into a draft: by its triggers, from what was recorded of them and by the dates of their fields. Triggers of which
 * the past is not kept are left out, and named.
 */
import { firstEvents, foundEvents } from '../../../events/person-event-read-model.ts';
import type { PersonEvent } from '../../../events/person-event.ts';
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { TransactionContext } from '../../context.ts';
import { endOfMillisecond, type DryWorld } from './dry-world.ts';
import { entryKeyOf } from '../flow/entry-key.ts';
import { isEvent, personEventOfTrigger, soughtBy, type AwaitedPersonEvent } from '../runs/flow-event.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import { nextSlot, type Slot } from '../triggers/next-slot.ts';
import type { RunPerson } from '../runs/run.ts';
import type { FlowTrigger, TimedTrigger } from '../triggers/watched-trigger.ts';
import { zoneOf } from '../runs/zones.ts';

/** Of one person. More are cut off: the path of each is shown. */
export const DRY_ENTRIES_MAX = 20;
/** Payloads that are kept, of all people together. */
const PAYLOADS_BYTES_MAX = 16_777_216;
/** What happened longer ago than this when it was recorded starts no flows. */
const EARLIER_MS = 86_400_000;

/** A person comes to the flow. */
export interface DryEntry {
  readonly personId: bigint;
  readonly at: Date;
  /** The type of the trigger, or `execute`. */
  readonly trigger: string;
  readonly payload: FlowPayload | null;
  readonly entryKey: string;
  readonly depth: number;
  /** What brought them; null: a date, a timetable or `execute`. */
  readonly event: Pick<PersonEvent, 'id' | 'at'> | null;
}

export interface DryEntries {
  /** In the order of their times. */
  readonly entries: readonly DryEntry[];
  /** Types of triggers that were not looked at. */
  readonly leftOut: readonly string[];
  /** There are more entries, or time or memory was over. */
  readonly isCut: boolean;
}

type People = ReadonlyMap<bigint, RunPerson>;

/** Everybody at the beginning, as `execute` lets them in. */
export function entriesAtOnce({ from }: DryWorld, people: People): DryEntries {
  const none = { trigger: 'execute', payload: null, entryKey: '', depth: 0, event: null };
  const entries = [...people.keys()].map((personId): DryEntry => ({ ...none, personId, at: from }));
  return { entries, leftOut: [], isCut: false };
}

/** By the triggers of the draft, those whose filters let the person through. */
export async function entriesByTriggers(ctx: TransactionContext, world: DryWorld, people: People): Promise<DryEntries> {
  const { triggers } = world.live.flow;
  const budget = { bytes: PAYLOADS_BYTES_MAX };
  const candidates: Candidate[] = [];
  const leftOut = new Set<string>();
  let isCut = false;
  for (const [no, trigger] of triggers.entries()) {
    const found = await broughtBy(ctx, world, { no, trigger, people, budget });
    if (!found) leftOut.add(trigger.type);
    candidates.push(...(found ?? []));
    // What comes after so many was not looked at, and the trigger's filter may let it through, whatever it says of these.
    const ofPeople = Map.groupBy(found ?? [], ({ personId }) => personId);
    isCut ||= [...ofPeople.values()].some((own) => own.length > DRY_ENTRIES_MAX);
  }
  const passing = await filtered(ctx, world, candidates.toSorted(inOrder));
  return { entries: passing.entries, isCut: isCut || passing.isCut || budget.bytes < 0, leftOut: [...leftOut] };
}

interface ByTrigger extends Pick<ByEvents, 'no' | 'budget'> {
  readonly trigger: FlowTrigger;
  readonly people: People;
}

/** Undefined: the past of such triggers is not kept. */
async function broughtBy(
  ctx: TransactionContext,
  world: DryWorld,
  { no, trigger, people, budget }: ByTrigger,
): Promise<readonly Candidate[] | undefined> {
  const asked = personEventOfTrigger(trigger);
  if (asked) return byEvents(ctx, world, { no, asked, ids: [...people.keys()], budget });
  if ('at' in trigger) return bySlots(ctx, world, { no, trigger, people });
  return trigger.type === 'execute' ? [] : undefined;
}

/** By the trigger with this number. */
interface Candidate extends DryEntry {
  readonly no: number;
}

/** An event is taken by the first trigger that lets it through. */
function inOrder(a: Candidate, b: Candidate): number {
  return a.at.getTime() - b.at.getTime() || Number((a.event?.id ?? 0n) - (b.event?.id ?? 0n)) || a.no - b.no;
}

interface ByEvents {
  readonly no: number;
  readonly asked: AwaitedPersonEvent;
  readonly ids: readonly bigint[];
  readonly budget: { bytes: number };
}

async function byEvents(
  { db }: TransactionContext,
  { live, from, until, deadline }: DryWorld,
  { no, asked, ids, budget }: ByEvents,
): Promise<readonly Candidate[]> {
  const { key, listId, flow } = live;
  const searches = ids.map((personId) => {
    // It may have happened before, and was recorded since.
    return { personId, from: new Date(from.getTime() - EARLIER_MS), after: 0n, until: null };
  });
  const isIt = (event: PersonEvent): boolean => {
    const isSince = event.startsFlows && event.recordedAt >= from && event.recordedAt <= until;
    if (!isSince || budget.bytes < 0 || !isEvent(asked, event)) return false;
    if (event.kind === 'event') budget.bytes -= JSON.stringify(event.data).length;
    return budget.bytes >= 0;
  };
  const sought = { customerId: key.customerId, listId, ...soughtBy(asked), needsData: true };
  const found = await foundEvents(db, sought, {
    ...{ searches, isIt, foundMax: DRY_ENTRIES_MAX + 1 },
    isOver: () => performance.now() > deadline,
  });
  return [...found].flatMap(([{ personId }, events]) =>
    events.map((event) => {
      const { id, at, recordedAt, depth, kind, data } = event;
      const payload = kind === 'event' ? data : null;
      const entryKey = entryKeyOf(payload, flow.entry);
      return { no, personId, at: recordedAt, trigger: asked.type, payload, entryKey, depth, event: { id, at } };
    }),
  );
}

interface BySlots {
  readonly no: number;
  readonly trigger: TimedTrigger;
  readonly people: People;
}

/** Local times of people who were on the list by then; a person's field and zone are as they are now. */
async function bySlots(
  { db }: TransactionContext,
  world: DryWorld,
  { no, trigger, people }: BySlots,
): Promise<readonly Candidate[]> {
  const { live, from } = world;
  const searches = [...people.keys()].map((personId) => ({ personId, from, after: 0n, until: null }));
  const list = { customerId: live.key.customerId, listId: live.listId };
  const sought = { ...list, kinds: ['added'] as const, name: null, needsData: false };
  const came = await firstEvents(db, sought, { searches, isIt: () => true });
  const cameAt = new Map([...came].map(([{ personId }, { at }]) => [personId, at]));
  const none = { no, trigger: trigger.type, payload: null, entryKey: '', depth: 0, event: null };
  return [...people].flatMap(([personId, person]) =>
    slotsOf(world, { trigger, person, after: cameAt.get(personId) ?? from }).map(({ at }) => ({
      ...{ ...none, personId, at: new Date(at) },
    })),
  );
}

/** None of who has a zone or a date that cannot be computed. */
function slotsOf(
  { zones, until }: DryWorld,
  { trigger, person, after }: { readonly trigger: TimedTrigger; readonly person: RunPerson; readonly after: Date },
): readonly Slot[] {
  const of = {
    zone: zoneOf(zones, person),
    value: trigger.type === 'date_field' ? person.fields[trigger.field] : undefined,
  };
  const slots: Slot[] = [];
  try {
    while (slots.length <= DRY_ENTRIES_MAX) {
      const last = slots.at(-1);
      const slot = nextSlot(trigger, { ...of, after: last?.at ?? after.getTime(), firedOn: last?.day ?? null });
      if (!slot || slot.at > until.getTime()) break;
      slots.push(slot);
    }
    return slots;
  } catch {
    return [];
  }
}

/** Each event once, by the first trigger whose filter it passes at that time; of each person not too many. */
async function filtered(
  ctx: TransactionContext,
  world: DryWorld,
  candidates: readonly Candidate[],
): Promise<Pick<DryEntries, 'entries' | 'isCut'>> {
  const { triggers } = world.live.flow;
  const entries: DryEntry[] = [];
  const taken = new Set<bigint>();
  const counts = new Map<bigint, number>();
  let isCut = false;
  for (const { no, ...entry } of candidates) {
    if (performance.now() > world.deadline) return { entries, isCut: true };
    const { personId, event } = entry;
    if (event && taken.has(event.id)) continue;
    const count = counts.get(personId) ?? 0;
    if (count === DRY_ENTRIES_MAX) isCut = true;
    if (count === DRY_ENTRIES_MAX || !(await passes(ctx, world, { trigger: triggers[no], entry }))) continue;
    counts.set(personId, count + 1);
    if (event) taken.add(event.id);
    entries.push(entry);
  }
  return { entries, isCut: isCut || performance.now() > world.deadline };
}

async function passes(
  { db }: TransactionContext,
  { live: { key, listId }, answers }: DryWorld,
  { trigger, entry: { personId, at } }: { readonly trigger: FlowTrigger | undefined; readonly entry: DryEntry },
): Promise<boolean> {
  const rule = trigger && 'if' in trigger ? trigger.if : undefined;
  if (!rule) return true;
  const list = { customerId: key.customerId, listId, rule };
  return (await peopleAmong(db, list, { ids: [personId], asOf: endOfMillisecond(at), answers })).has(personId);
}
