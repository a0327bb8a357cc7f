/**
 * A reference interpreter of flows with a virtual clock: what must happen to each person, person by person and step by step, without a database
 * and without the code of the product. It is as short as it can be; the rules stand in rules.ts.
 */
import type { Happening, HistoryData, PersonThere } from './flow-data.ts';
import { FlowReference, type FlowTrace } from './flow-reference.ts';
import type { StartFlow } from './node-work.ts';
import { People, type Person } from './people.ts';
import { RULES, type Rules } from './rules.ts';
import type { Draws } from './runs.ts';
import type { DayCounts } from './triggers.ts';

export interface Expected {
  /** The flow of the history, and those that it starts. */
  readonly flows: readonly FlowTrace[];
  /** Of each `execute`: undefined is an entry. */
  readonly refusals: readonly (string | undefined)[];
  /** Of each publication with moves: the nodes without a target, or why nothing was published. */
  readonly publications: readonly string[];
  /** Of each sending: how many had finished. */
  readonly sent: readonly number[];
  readonly people: { readonly all: readonly Person[]; readonly there: readonly (PersonThere | undefined)[] };
  /** What came of dates and timetables, by days. */
  readonly days: ReadonlyMap<string, DayCounts>;
}

/** `draws`: of each flow. */
export function expectedOf(
  history: HistoryData,
  { listZone, draws, rules = RULES }: { listZone: string; draws: (flow: number) => Draws; rules?: Rules },
): Expected {
  const { flows: versions, started = [], there = [], quiet, cap, customerCap } = history;
  const people = new People(history.people, there, rules);
  const means = {
    people,
    rules,
    listZone,
    ...(quiet && { quiet }),
    ...(cap && { cap }),
    ...(customerCap && { customerCap }),
  };
  const others: FlowReference[] = [];
  const start: StartFlow = (no, run, now) => {
    const { person, payload, depth } = run;
    const flow = others[no];
    if (!flow) throw new Error('No such flow.');
    return flow.letIn(person, { payload: rules.payloadOfStarted(payload), depth: rules.depthOfStarted(depth) }, now);
  };
  const main = new FlowReference(versions, { ...means, start, draws: draws(0), isMain: true });
  for (const [no, flow] of started.entries())
    others.push(new FlowReference([flow], { ...means, start, draws: draws(no + 1), isMain: false }));
  const flows = [main, ...others];
  for (const happening of history.happenings) happens(happening, { people, flows });
  const { refusals, publications, sent, days } = main;
  return { flows, refusals, publications, sent, people, days };
}

function happens(
  happening: Happening,
  { people, flows }: { readonly people: People; readonly flows: readonly FlowReference[] },
): void {
  const { at, isUnread = false } = happening;
  // Who is let into another flow is due there.
  for (let isWorking = happening.do === 'work'; isWorking;)
    isWorking = flows.map((flow) => flow.work(at)).includes(true);
  // The next process goes on at the same time.
  if ('killAfter' in happening && happening.killAfter !== undefined) return;
  for (const flow of flows) flow.begin(at);
  const isGone =
    'person' in happening && happening.do !== 'execute' && people.get(happening.person).status === 'deleted';
  if (!isGone) people.happens(happening);
  const acts = flows.map((flow) => (isGone ? undefined : flow.act(happening)));
  if (isUnread) return;
  for (const [no, flow] of flows.entries()) flow.read(at, acts[no]);
  if (happening.do === 'work') for (const flow of flows) flow.look();
}
