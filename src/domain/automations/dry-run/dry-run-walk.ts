/**
 * The steps of a dry run: all who stand at one node until one time go on together, by the work of the engine where it only reads. What would
 * change something goes on.
 */
import type { TransactionContext } from '../../context.ts';
import type { DryEntry } from './dry-run-entries.ts';
import { endOfMillisecond, type DryWorld } from './dry-world.ts';
import type { Refusal } from '../entries/enter-people.ts';
import { firstOf } from '../runs/first-of.ts';
import { sinceEntry } from '../runs/flow-event.ts';
import { kindOfTemplate } from '../work/flow-mail-read-model.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { judgedMails } from '../work/mail-work.ts';
import { moveOf, personAfter } from '../runs/move-of.ts';
import { NEXT, type NodeWork, type Outcome, type PresentRun } from '../work/node-work.ts';
import type { Place, Run, RunPerson } from '../runs/run.ts';
import { reasonsToLeave, waysOut } from '../engine/ways-out.ts';
import { isReading, workThatReads } from '../work/work-of-node.ts';

export interface DryStep {
  readonly node: string;
  readonly at: Date;
  /** `waits`: without end, or longer than the dry run goes on. `stopped`: it took too long. */
  readonly what: 'passed' | 'left' | 'parked' | 'waits' | 'stopped';
  readonly port: string | null;
  readonly reason: string | null;
}

export interface Walker {
  readonly entry: DryEntry;
  run: Run;
  person: RunPerson;
  place: Place;
  refused: Refusal | null;
  readonly steps: DryStep[];
  readonly endedAt: () => Date | null;
}

/** Lets these go their ways, each by itself. */
export async function walk(ctx: TransactionContext, world: DryWorld, walkers: readonly Walker[]): Promise<void> {
  let going = walkers;
  while (going.length > 0) {
    if (performance.now() > world.deadline || world.steps.left < going.length) {
      for (const { place, steps } of going) steps.push(stepAt(place.node, place.wakeAt ?? world.to, 'stopped'));
      return;
    }
    const groups = Map.groupBy(going, ({ place }) => `${place.node} ${place.wakeAt?.getTime()}`);
    const next: Walker[] = [];
    world.steps.left -= going.length;
    for (const group of groups.values()) next.push(...(await stepOf(ctx, world, group)));
    going = next;
  }
}

export const UNSUBSCRIBED = 'unsubscribed';
export const LEAVING_THE_LIST = { type: UNSUBSCRIBED } as const;

/** For what happened to the person since the entry. */
export function searchOf(walker: Walker, until: Date | null) {
  const { run } = walker;
  return { walker, run, runId: run.id, personId: run.personId, ...sinceEntry(run), until };
}

/** Moves all who stand at one node until one time. Returns those who go on. */
async function stepOf(ctx: TransactionContext, world: DryWorld, group: readonly Walker[]): Promise<readonly Walker[]> {
  const [first] = group;
  const node = first && world.live.graph.nodes.get(first.place.node);
  if (!first || !node) return [];
  const { wakeAt } = first.place;
  const now = wakeAt === null || wakeAt > world.to ? world.to : wakeAt;
  const staying = await withoutLeavers(ctx, world, { walkers: group, until: now });
  if (wakeAt === null || wakeAt > world.to) {
    for (const { steps } of staying) steps.push(stepAt(node.id, now, 'waits'));
    return [];
  }
  const runs = staying.map(({ run, person, entry: { payload } }): PresentRun => ({
    ...run,
    wakeAt: now,
    person,
    payload,
  }));
  const outcomes = await outcomesOf({
    ctx,
    node,
    runs,
    now,
    live: world.live,
    zones: world.zones,
    answers: world.answers,
  });
  const going: Walker[] = [];
  for (const [no, walker] of staying.entries()) {
    const outcome = outcomes[no];
    if (outcome && (await goesOn(ctx, world, { node, walker, outcome, now }))) going.push(walker);
  }
  return going;
}

interface Going {
  readonly node: FlowNode;
  readonly walker: Walker;
  readonly outcome: Outcome;
  readonly now: Date;
}

async function goesOn(
  ctx: TransactionContext,
  world: DryWorld,
  { node, walker, outcome, now }: Going,
): Promise<boolean> {
  const { live, zones } = world;
  const { person, steps } = walker;
  // An event that is waited for may be later than the arrival: the clock goes on to it.
  const found = 'go' in outcome ? outcome.details?.['at'] : undefined;
  const at = found instanceof Date && found > now ? found : now;
  if (at > now && (await withoutLeavers(ctx, world, { walkers: [walker], until: at })).length === 0) return false;
  const move = moveOf(node, walker.run, outcome, { live, zones, person, now: at });
  if (move.what !== 'stays') steps.push({ ...stepAt(node.id, at, move.what), port: move.port, reason: move.reason });
  if (!move.to) return false;
  walker.place = move.to;
  if (move.what === 'passed') {
    walker.run = { ...move.run, since: at };
    walker.person = personAfter(node, { ...move, person });
  }
  return true;
}

function stepAt(node: string, at: Date, what: DryStep['what']): DryStep {
  return { node, at, what, port: null, reason: null };
}

interface Checking {
  readonly walkers: readonly Walker[];
  readonly until: Date;
}

/** By goals, by exits and by leaving the list people end before that time, the first of these first. Returns the others. */
async function withoutLeavers(
  ctx: TransactionContext,
  { live }: DryWorld,
  { walkers, until }: Checking,
): Promise<readonly Walker[]> {
  const ends = new Map<Walker, { readonly at: Date; readonly reason: string }>();
  for (const { event, reason } of endingEvents(live)) {
    const searches = walkers
      .filter(({ run }) => reason !== UNSUBSCRIBED || !run.hasLeft)
      .map((walker) => searchOf(walker, until));
    for (const [{ walker }, { at }] of await firstOf(ctx, live, { asked: event, searches })) {
      const known = ends.get(walker);
      if (!known || at < known.at) ends.set(walker, { at, reason });
    }
  }
  for (const [{ place, steps }, { at, reason }] of ends) steps.push({ ...stepAt(place.node, at, 'left'), reason });
  return walkers.filter((walker) => !ends.has(walker));
}

function endingEvents(live: LiveFlow) {
  const ways = waysOut(live).flatMap(({ way: { event }, reason }) => (event ? [{ event, reason }] : []));
  return [{ event: LEAVING_THE_LIST, reason: UNSUBSCRIBED }, ...ways];
}

/** The engine's own work where it only reads; what would change something goes on. */
async function outcomesOf({ node, ...work }: NodeWork): Promise<readonly Outcome[]> {
  if (work.runs.length === 0) return [];
  if (node.type === 'send_mail') return mailsOf({ ...work, node });
  if (node.type === 'condition') return workThatReads({ ...work, node, now: endOfMillisecond(work.now) });
  return isReading(node) ? workThatReads({ ...work, node }) : work.runs.map(() => NEXT);
}

/** Who leaves by goals and exits about the person: these are judged before each mail. Those by events were, by their times. */
export function leavingByRules({ ctx, live, runs, answers, now }: NodeWork<'send_mail'>) {
  const onlyRules = {
    ...live.flow,
    goals: live.flow.goals.filter(({ person }) => person),
    exits: live.flow.exits.filter(({ person }) => person),
  };
  return reasonsToLeave(ctx, { ...live, flow: onlyRules }, { runs, answers, now });
}

async function mailsOf(work: NodeWork<'send_mail'>): Promise<readonly Outcome[]> {
  const { ctx, live, runs } = work;
  const reasons = await leavingByRules(work);
  const kind = await kindOfTemplate(ctx.db, { customerId: live.key.customerId, uid: work.node.templateUid });
  const judged = await judgedMails(work, kind ?? 'marketing');
  return runs.map(({ id }, no): Outcome => {
    const leave = reasons.get(id);
    if (leave !== undefined) return { leave };
    const one = judged[no];
    return one && !('runId' in one) ? one : { go: 'next', details: { templateUid: work.node.templateUid } };
  });
}
