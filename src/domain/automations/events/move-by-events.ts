/**
 * What events do to people who are in a flow already: they reach a goal or an exit, or their wait ends (D77, D79). The runs' rows decide:
 * what has moved on meanwhile is not moved again.
 */
import { movedAmong, peopleById } from '../../audience/people-store.ts';
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { TransactionContext } from '../../context.ts';
import { moveOf } from '../runs/move-of.ts';
import { lockRuns, runsOfPeople, type AwaitingRun } from '../runs/awaiting-run-store.ts';
import type { Followed } from './enter-by-events.ts';
import { countingOf, detailsOf } from '../work/event-wait-work.ts';
import { isCounted, isEvent, isEventOf, sinceEntry } from '../runs/flow-event.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import type { Outcome } from '../work/node-work.ts';
import type { FlowEvent, FlowEventKind } from '../flow/open-or-click.ts';
import type { Move } from '../runs/run.ts';
import { findByKeys, moveRuns } from '../runs/run-store.ts';
import { fireForArrivals } from '../work/fire-webhooks.ts';
import { wakeFlows } from '../runs/wake-flows.ts';
import { wakeForDate } from '../engine/changed-date.ts';
import { waysOut, type WayOut } from '../engine/ways-out.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import type { Zones } from '../runs/zones.ts';

/** After these a rule about the person may have become true. */
const CHANGING: ReadonlySet<FlowEventKind> = new Set([
  ...(['added', 'confirmed', 'resubscribed', 'unsubscribed'] as const),
  ...(['changed', 'tagged', 'untagged', 'moved'] as const),
]);

/** After these people leave every flow at once (D80), also where they are parked; only runs in which the flow itself ended the subscription go on. */
const ENDING: ReadonlySet<FlowEventKind> = new Set(['unsubscribed', 'moved', 'removed', 'bounced', 'complained']);

/** Whether people inside the flow wait for events, or leave by them. */
export function awaitsEvents({ flow: { goals, exits, nodes } }: LiveFlow): boolean {
  return (
    goals.length + exits.length > 0 || nodes.some(({ type }) => type === 'wait_for_event' || type === 'wait_until')
  );
}

/** Whether the event may do something to somebody inside. */
export function isAwaited({ flow: { goals, exits, nodes } }: LiveFlow, event: FlowEvent): boolean {
  const ways = [...goals, ...exits];
  if (CHANGING.has(event.kind) && ways.some(({ person }) => person)) return true;
  const awaited = [
    ...ways.map((way) => way.event),
    ...nodes.map((node) => node.type === 'wait_for_event' && node.event),
  ];
  return awaited.some((asked) => asked && isEvent(asked, event));
}

/** For a run the outcome that an event has, if any. `isHeld`: its row is locked, so no step of it is on its way. */
type Judge = (run: AwaitingRun, isHeld: boolean) => Outcome | undefined;

/** Returns how many were moved. */
export async function moveByEvents(
  ctx: TransactionContext,
  { key, listId }: LiveFlow,
  followed: Followed,
): Promise<number> {
  const ids = [...new Set(followed.events.map(({ personId }) => personId))];
  const inside = await runsOfPeople(ctx.tx, key, ids);
  const zones = inside.length > 0 ? await zonesOfList(ctx.db, { customerId: key.customerId, listId }) : undefined;
  if (!zones) return 0;
  const judges = new Map<number, { readonly live: LiveFlow; readonly judge: Judge }>();
  const readJudges = async (runs: readonly AwaitingRun[]) => {
    for (const version of new Set(runs.map((run) => run.version).filter((one) => !judges.has(one)))) {
      const live = await liveFlow(ctx, { ...key, version });
      if (live && (awaitsEvents(live) || followed.events.some(({ kind }) => ENDING.has(kind))))
        judges.set(version, { live, judge: await judgeOf(ctx, live, { inside, followed, zones }) });
    }
  };
  await readJudges(inside);
  const judged = (runs: readonly AwaitingRun[], isHeld: boolean) =>
    runs.filter((run) => judges.get(run.version)?.judge(run, isHeld));
  const wanted = judged(inside, false);
  if (wanted.length === 0) return 0;
  await findByKeys(ctx.tx);
  const locked = await lockRuns(ctx.tx, key, wanted);
  // Some may have been moved to another version meanwhile (D84).
  await readJudges(locked);
  const held = judged(locked, true);
  if (held.length === 0) return 0;
  const people = await peopleById(ctx.db, {
    ...{ customerId: key.customerId, listId, ids: held.map(({ personId }) => personId) },
  });
  for (const [version, runs] of [...Map.groupBy(held, (run) => run.version)].toSorted(([a], [b]) => a - b)) {
    const { live, judge } = judges.get(version) ?? {};
    const moves = runs.flatMap((run): Move[] => {
      const node = live?.graph.nodes.get(run.node);
      const outcome = judge?.(run, true);
      if (!live || !node || !outcome) return [];
      const person = people.get(run.personId) ?? null;
      const arrival = person ? { live, zones, person, now: followed.now } : undefined;
      return [{ ...moveOf(node, run, outcome, arrival), wasParked: run.isParked }];
    });
    await moveRuns(ctx.tx, { ...key, version }, { moves, now: followed.now });
    if (live) await fireForArrivals(ctx, live, moves);
  }
  await wakeFlows(ctx.tx);
  return held.length;
}

interface Judging {
  readonly inside: readonly AwaitingRun[];
  readonly followed: Followed;
  readonly zones: Zones;
}

/** The end of the subscription comes before goals, these before exits, and all before the wait. */
async function judgeOf(ctx: TransactionContext, live: LiveFlow, { inside, followed, zones }: Judging): Promise<Judge> {
  const ended = await whoseSubscriptionEnded(ctx, live, followed);
  const events = Map.groupBy(followed.events, ({ personId }) => personId);
  const leaves: { readonly reason: string; readonly isTrue: Truth }[] = [];
  for (const { way, reason } of waysOut(live))
    leaves.push({ reason, isTrue: await truthOf(ctx, live, way, { inside, followed }) });
  return (run, isHeld) => {
    const own = events.get(run.personId) ?? [];
    const gone = ended.get(run.personId);
    // Whom the flow itself has unsubscribed goes on without a subscription, but not without a person.
    if (gone !== undefined && (!run.hasLeft || gone === 'deleted')) return { leave: gone };
    if (run.isParked) return undefined;
    const left = leaves.find(({ isTrue }) => isTrue(run, own));
    if (left) return { leave: left.reason };
    return (
      endOfWait(live, run, { events: own, isHeld }) ??
      wakeForDate(live, run, { events: own, isHeld, zones, now: followed.now })
    );
  };
}

/** Why they leave, by their ids. Who has subscribed again meanwhile stays, and so does who gets mail after a bounce. */
async function whoseSubscriptionEnded(
  ctx: TransactionContext,
  { key, listId }: LiveFlow,
  { events }: Followed,
): Promise<ReadonlyMap<bigint, string>> {
  const ids = [...new Set(events.flatMap(({ kind, personId }) => (ENDING.has(kind) ? [personId] : [])))];
  if (ids.length === 0) return new Map();
  const people = await peopleById(ctx.db, { customerId: key.customerId, listId, ids });
  const moved = await movedAmong(ctx.db, { customerId: key.customerId, listId, ids });
  return new Map(
    ids.flatMap((id): [bigint, string][] => {
      const { status = 'deleted', isSuppressed = false } = people.get(id) ?? {};
      if (status === 'subscribed') return isSuppressed ? [[id, 'suppressed']] : [];
      return [[id, status === 'unsubscribed' && moved.has(id) ? 'moved' : status]];
    }),
  );
}

type Truth = (run: AwaitingRun, events: readonly FlowEvent[]) => boolean;

async function truthOf(
  ctx: TransactionContext,
  live: LiveFlow,
  { event: asked, person: rule }: WayOut,
  { inside, followed }: { readonly inside: readonly AwaitingRun[]; readonly followed: Followed },
): Promise<Truth> {
  if (asked)
    return (run, events) =>
      events.some(
        (event) => isCounted(event, sinceEntry(run)) && isEventOf(asked, event, { ...run, entry: live.flow.entry }),
      );
  const changed = new Set(followed.events.filter(({ kind }) => CHANGING.has(kind)).map(({ personId }) => personId));
  const ids = inside.map(({ personId }) => personId).filter((id) => changed.has(id));
  const people = await whoAre(ctx, live, { rule, ids, followed });
  return ({ personId }) => people.has(personId);
}

const NOBODY: ReadonlySet<bigint> = new Set();

async function whoAre(
  ctx: TransactionContext,
  { key, listId }: LiveFlow,
  asked: { readonly rule: SegmentRule | undefined; readonly ids: readonly bigint[]; readonly followed: Followed },
): Promise<ReadonlySet<bigint>> {
  const { rule, ids, followed } = asked;
  if (!rule || ids.length === 0) return NOBODY;
  const { now, answers } = followed;
  return peopleAmong(ctx.db, { customerId: key.customerId, listId, rule }, { ids, asOf: now, answers });
}

/**
 * Who has just come to the node looks back by themselves. That step may have looked already and not be done: then its row is waited for, and
 * the wait ends here.
 */
function endOfWait(
  live: LiveFlow,
  run: AwaitingRun,
  { events, isHeld }: { readonly events: readonly FlowEvent[]; readonly isHeld: boolean },
): Outcome | undefined {
  const node = live.graph.nodes.get(run.node);
  if (node?.type !== 'wait_for_event' || (isHeld && !run.isWaiting)) return undefined;
  const counting = countingOf(node, run);
  const end = run.isWaiting ? run.wakeAt : null;
  const found = events.find(
    (event) =>
      isCounted(event, counting) &&
      (end === null || event.at < end) &&
      isEventOf(node.event, event, { ...run, entry: live.flow.entry }),
  );
  return found && { go: 'next', reason: node.event.type, details: detailsOf(found) };
}
