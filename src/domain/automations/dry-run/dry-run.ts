/**
 * A dry run of a draft (D91): people come in by what has really happened to them, and a virtual clock goes on from there. Rules, rules of entry,
 * waits and zones are those of the engine; nothing is sent and nothing is written. Fields, tags and segments are as they are now.
 */
import type { TransactionContext } from '../../context.ts';
import { DryAdmission } from './dry-run-admission.ts';
import type { DryEntries, DryEntry } from './dry-run-entries.ts';
import { LEAVING_THE_LIST, searchOf, UNSUBSCRIBED, walk, type DryStep, type Walker } from './dry-run-walk.ts';
import type { DryWorld } from './dry-world.ts';
import type { Refusal } from '../entries/enter-people.ts';
import { firstOf } from '../runs/first-of.ts';
import { firstNode } from '../runs/live-flow.ts';
import { placeAt } from '../runs/place-at.ts';
import type { Run, RunPerson } from '../runs/run.ts';

/** The way of one person from one entry. */
export interface DryPath {
  readonly personId: bigint;
  readonly enteredAt: Date;
  /** The type of the trigger, or `execute`. */
  readonly trigger: string;
  /** Why the person did not enter; null: they did. */
  readonly refused: Refusal | null;
  readonly steps: readonly DryStep[];
}

export interface DryPaths extends Pick<DryEntries, 'leftOut' | 'isCut'> {
  readonly paths: readonly DryPath[];
}

/** The paths of these people, in the order of the entries. */
export async function dryRun(
  ctx: TransactionContext,
  world: DryWorld,
  { entries, leftOut, isCut, people }: DryEntries & { readonly people: ReadonlyMap<bigint, RunPerson> },
): Promise<DryPaths> {
  const { flow } = world.live;
  const walkers = entries.flatMap((entry, no) => walkerOf(world, { entry, no, person: people.get(entry.personId) }));
  await judgePresence(ctx, world, walkers);
  const ofPerson = Map.groupBy(walkers, ({ entry }) => entry.personId).values();
  const admissions = [...ofPerson].map((own) => new DryAdmission(flow.entry, own));
  for (;;) {
    const entering = admissions.flatMap((one) => one.next());
    if (entering.length === 0) break;
    await walk(ctx, world, entering);
  }
  const paths = walkers.map(({ entry: { personId, at, trigger }, refused, steps }) => {
    return { personId, enteredAt: at, trigger, refused, steps };
  });
  return { paths, leftOut, isCut: isCut || paths.some(({ steps }) => steps.at(-1)?.what === 'stopped') };
}

interface Entering {
  readonly entry: DryEntry;
  readonly no: number;
  readonly person: RunPerson | undefined;
}

function walkerOf({ live, zones }: DryWorld, { entry, no, person: present }: Entering): readonly Walker[] {
  const first = firstNode(live);
  if (!first || !present) return [];
  const { personId, at, entryKey, depth, event } = entry;
  const hasLeft = entry.trigger === UNSUBSCRIBED;
  const person = hasLeft ? { ...present, status: UNSUBSCRIBED } : present;
  const run: Run = {
    // No run has such an id: no mail, open or click is of this one.
    ...{ id: -1n - BigInt(no), personId, enteredAt: at, since: at, hasLeft },
    ...{ eventsFrom: event?.at ?? at, eventsAfter: event?.id ?? 0n },
    ...{ depth, failures: 0, entryKey, reason: null, steps: 0 },
    passes: live.repeated.has(first.id) ? { [first.id]: 1 } : null,
  };
  const steps: DryStep[] = [];
  const place = placeAt(first, { live, zones, person, now: at });
  return [{ entry, run, person, place, refused: null, steps, endedAt: () => endOf(steps) }];
}

/** Of a run that has gone all its steps. */
function endOf(steps: readonly DryStep[]): Date | null {
  const last = steps.at(-1);
  return last && (last.what === 'passed' || last.what === 'left') ? last.at : null;
}

/**
 * Who gets no mail of the list now, and has not left it since, was not there: they are refused, but by a flow for those who leave. The others
 * were subscribed at that time.
 */
async function judgePresence(ctx: TransactionContext, { live }: DryWorld, walkers: readonly Walker[]): Promise<void> {
  const isForLeavers = live.flow.triggers.some(({ type }) => type === UNSUBSCRIBED);
  const gone = walkers.filter(({ run, person }) => !run.hasLeft && person.status !== 'subscribed');
  const found = await firstOf(ctx, live, { asked: LEAVING_THE_LIST, searches: gone.map((one) => searchOf(one, null)) });
  const leftLater = new Set([...found.keys()].map(({ walker }) => walker));
  for (const walker of gone) {
    if (leftLater.has(walker)) walker.person = { ...walker.person, status: 'subscribed' };
    else if (isForLeavers) walker.run = { ...walker.run, hasLeft: true };
    else walker.refused = 'not_subscribed';
  }
  if (isForLeavers) return;
  for (const walker of walkers) if (walker.person.isSuppressed) walker.refused ??= 'suppressed';
}
