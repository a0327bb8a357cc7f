/** Random flows, people and what happens to them, from a seed: the same seed gives the same history. */
import { seededRandom, type Random } from '../chaos/random.ts';
import type {
  AskedAct,
  EntryData,
  FlowData,
  Happening,
  HistoryData,
  NodeData,
  Payload,
  PersonThere,
  Question,
  TimedTrigger,
  WayOut,
} from './flow-data.ts';
import { isLongWait, portsOf, sensible, withoutKey } from './flow-shape.ts';
import { RandomChanges } from './random-changes.ts';
import { BEGIN, CLOCK_CHANGES, ZONES } from './seldom-histories.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TAGS = ['vip', 'Silver'];
const LEVELS = ['gold', 'Silver', 'none', ''];
const DATES = ['2026-03-29', '2026-03-20', '2024-02-29', '2024-02-29', '1990-04-05', '2026-05-01', ''];
const TIMES = ['00:00', '01:45', '02:00', '02:30', '03:10', '09:00', '23:30'];
const QUIET = [
  { from: '22:00', to: '07:00' },
  { from: '02:00', to: '12:30' },
];
const KILLED_WITHIN = 60;
const EDGE_SHARE = 85;
const BACK_SHARE = 30;
/** How often a flow changes. */
const LATER_VERSIONS = [1, 1, 2];
/** Of the nodes that change, how many do other work then. */
const OTHER_WORK_SHARE = 30;

/** `moves`: the flow changes while people are inside, who are moved (D84). */
export function randomHistory(seed: number, { moves = false }: { readonly moves?: boolean } = {}): HistoryData {
  const draw = new Draw(seededRandom(seed));
  const entry = draw.entry();
  const flows = moves ? draw.versions(entry) : Array.from({ length: draw.among([1, 1, 2]) }, () => draw.flow(entry));
  const people = Array.from({ length: draw.between(1, 5) }, () => draw.fields());
  const mails = flows.flatMap(({ nodes }) => nodes.filter(({ type }) => type === 'send_mail').map(({ id }) => id));
  return {
    ...{ flows, people },
    happenings: draw.happenings({
      ...{ people: people.length, publications: moves ? 0 : flows.length - 1, mails },
      changes: moves ? new RandomChanges(draw, flows) : undefined,
    }),
    there: people.map(() => draw.personThere()),
    ...(draw.isDrawn(30) && { quiet: draw.among(QUIET) }),
  };
}

class Draw {
  readonly #random: Random;
  /** Nodes of later versions. */
  #made = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  among<Value>(values: readonly Value[]): Value {
    return this.#random.pick(values);
  }

  between(low: number, high: number): number {
    return low + this.#random.below(high - low + 1);
  }

  isDrawn(percent: number): boolean {
    return this.#random.below(100) < percent;
  }

  entry(): EntryData {
    return this.among<EntryData>([
      { mode: 'once' },
      { mode: 'after_end' },
      { mode: 'after_days', days: this.between(1, 4) },
      { mode: 'per_key', key: 'cart' },
    ]);
  }

  fields(): Record<string, string> {
    return {
      ZONE: this.among([...ZONES, ...ZONES, '', 'nowhere']),
      LEVEL: this.among(LEVELS),
      ENDS: this.among(DATES),
    };
  }

  /** A flow and what becomes of it. */
  versions(entry: EntryData): readonly FlowData[] {
    const all = [this.flow(entry)];
    for (let more = this.among(LATER_VERSIONS); more > 0; more -= 1) all.push(this.flow(entry, all.at(-1)));
    return all;
  }

  /** `before`: the version before. */
  flow(entry: EntryData, before?: FlowData): FlowData {
    // Several runs of one person see each other's changes: which of them comes first is not promised.
    const isAlone = entry.mode === 'once' || entry.mode === 'after_end';
    const drawn = before
      ? this.#changed(before, isAlone)
      : Array.from({ length: this.between(1, 8) }, (_, no) => this.#node(`n${no}`, isAlone));
    const size = drawn.length;
    const idAt = (no: number) => drawn[no]?.id ?? '';
    const edges = [{ from: 'start', port: 'next', to: idAt(0) }];
    for (const [no, node] of drawn.entries()) {
      for (const port of portsOf(node)) {
        const isBack = isLongWait(node) && this.isDrawn(BACK_SHARE);
        if (isBack) edges.push({ from: node.id, port, to: idAt(this.between(0, no)) });
        else if (no + 1 < size && this.isDrawn(EDGE_SHARE))
          edges.push({ from: node.id, port, to: idAt(this.between(no + 1, Math.min(size - 1, no + 2))) });
      }
    }
    const nodes = sensible(drawn, edges, entry);
    const mails = nodes.filter(({ type }) => type === 'send_mail').map(({ id }) => id);
    return {
      triggers: [{ type: 'execute' }, ...(entry.mode !== 'per_key' && this.isDrawn(35) ? [this.#trigger()] : [])],
      entry,
      nodes,
      edges,
      ...(this.isDrawn(25) && { goals: [this.#wayOut('goal', { isAlone, mails, entry })] }),
      ...(this.isDrawn(25) && { exits: [this.#wayOut('exit', { isAlone, mails, entry })] }),
      holidays: ['2026-03-09', '2026-03-10', '2026-04-03'],
      passesMax: this.between(1, 4),
    };
  }

  /** Some nodes as they were, some with other settings or other work, some are gone and some new, at times in another order. */
  #changed({ nodes }: FlowData, isAlone: boolean): readonly NodeData[] {
    const kept = nodes.filter(() => this.isDrawn(80)).map((node) => this.#changedNode(node, isAlone));
    const fresh = Array.from({ length: this.between(kept.length === 0 ? 1 : 0, 2) }, () =>
      this.#node(`m${(this.#made += 1)}`, isAlone),
    );
    const all = [...kept, ...fresh];
    if (this.isDrawn(40)) return all;
    const places = new Map(all.map((node) => [node, this.between(0, 100)]));
    return all.toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
  }

  #changedNode(node: NodeData, isAlone: boolean): NodeData {
    if (this.isDrawn(60)) return node;
    const others = Array.from({ length: 12 }, () => this.#node(node.id, isAlone));
    const isOther = this.isDrawn(OTHER_WORK_SHARE);
    return others.find(({ type }) => isOther !== (type === node.type)) ?? node;
  }

  #node(id: string, isAlone: boolean): NodeData {
    const draws: readonly (() => NodeData)[] = [
      () => ({ id, type: 'wait', for: this.among([{ minutes: 30 }, { minutes: 90 }, { hours: 5 }, { hours: 30 }]) }),
      () => ({
        ...{ id, type: 'wait' as const, for: this.among([{ days: 1 }, { days: 4 }, { weeks: 1 }]) },
        ...(this.isDrawn(60) && { at: this.among(TIMES) }),
        ...(this.isDrawn(30) && { weekdays: this.among([[1, 2, 3, 4, 5], [7], [1, 3]]) }),
        ...(this.isDrawn(40) && { skipHolidays: true }),
      }),
      () => this.#until(id),
      () => this.#mail(id, isAlone),
      () => this.#mail(id, isAlone),
      () => this.#eventWait(id, isAlone),
      () => ({ id, type: 'condition', if: this.#question(2, isAlone) }),
      () => ({
        id,
        type: 'split',
        variants: this.among([
          [
            { name: 'a', percent: 50 },
            { name: 'b', percent: 50 },
          ],
          [
            { name: 'x', percent: 10 },
            { name: 'y', percent: 60 },
            { name: 'z', percent: 30 },
          ],
        ]),
      }),
      () => ({ id, type: this.among(['add_tag', 'remove_tag'] as const), tag: this.among([...TAGS, 'VIP', 'SILVER']) }),
      () => ({ id, type: 'add_tag', tag: 'vip' }),
      () => ({ id, type: 'remove_tag', tag: 'VIP' }),
      () => ({ id, type: 'set_field', field: 'LEVEL', value: this.among(LEVELS) }),
      () => ({ id, type: this.isDrawn(50) ? 'end' : 'unsubscribe' }),
      () => ({
        ...{ id, type: this.among(['copy_to_list', 'copy_to_list', 'move_to_list'] as const) },
        onConflict: this.among(['keep', 'overwrite', 'fill_empty'] as const),
      }),
    ];
    return this.among(isAlone ? draws : draws.slice(0, 8))();
  }

  #mail(id: string, isAlone: boolean): NodeData {
    return {
      ...{ id, type: 'send_mail', templateUid: this.among(['A', 'A', 'B', 'C'] as const) },
      // Of several runs of one person it is not promised which comes first.
      ...(isAlone && this.isDrawn(40) && { notAgainWithinDays: this.between(1, 4) }),
      ...(isAlone && this.isDrawn(30) && { isGoodbye: true }),
    };
  }

  #eventWait(id: string, isAlone: boolean): NodeData {
    return {
      ...{ id, type: 'wait_for_event', event: this.#act(isAlone ? ['any', 'n0', 'n1', 'n2', 'n3'] : []) },
      for: this.among([{ minutes: 90 }, { hours: 24 }, { days: 2 }, { weeks: 1 }]),
      countsFrom: this.isDrawn(40) ? 'entry' : 'arrival',
    };
  }

  /** `mails`: nodes that may be named, or `any`. */
  #act(mails: readonly string[]): AskedAct {
    if (mails.length > 0 && this.isDrawn(50)) {
      const mail = this.among(mails);
      return {
        type: this.among(['opened', 'clicked'] as const),
        ...(mail !== 'any' && { mail }),
        ...(this.isDrawn(20) && { machines: true }),
      };
    }
    return {
      ...{ type: 'event', name: this.among(['order', 'order', 'visit']) },
      ...(this.isDrawn(30) && { where: [{ path: 'total', number: this.among([{ gte: 50 }, { lt: 50 }]) }] }),
      ...(mails.length === 0 && this.isDrawn(40) && { sameKey: true }),
    };
  }

  #wayOut(
    id: string,
    {
      isAlone,
      mails,
      entry,
    }: { readonly isAlone: boolean; readonly mails: readonly string[]; readonly entry: EntryData },
  ): WayOut {
    if (isAlone && this.isDrawn(40)) return { id, person: { tags: { hasAny: [this.among(TAGS)] } } };
    const event = this.#act(isAlone && mails.length > 0 ? ['any', ...mails] : []);
    return { id, event: event.type !== 'event' || entry.mode === 'per_key' ? event : withoutKey(event) };
  }

  personThere(): PersonThere | undefined {
    if (this.isDrawn(50)) return undefined;
    return {
      status: this.among(['subscribed', 'subscribed', 'unsubscribed']),
      tags: this.among([[], ['VIP'], ['old']]),
      level: this.among(LEVELS),
    };
  }

  #trigger(): TimedTrigger {
    const rest = { at: this.among(TIMES), ...(this.isDrawn(25) && { if: { tags: { hasNone: ['vip'] } } }) };
    const shift = this.among([{}, { before: { days: 3 } }, { after: { weeks: 1 } }]);
    const yearly = this.isDrawn(60) ? { yearly: true, ...(this.isDrawn(30) && { notInFirstYear: true }) } : {};
    return this.among<() => TimedTrigger>([
      () => ({ type: 'date_field', field: 'ENDS', ...shift, ...yearly, ...rest }),
      () => ({ type: 'date_field', field: 'ENDS', ...shift, ...yearly, ...rest }),
      () => ({ type: 'weekly', weekdays: this.among([[1], [6, 7], [2, 4]]), ...rest }),
      () => ({ type: 'monthly', day: this.among([5, 8, 31]), ...rest }),
      () => ({ type: 'specific_date', date: this.among(['2026-03-06', '2026-03-08', '2026-03-29']), ...rest }),
    ])();
  }

  #until(id: string): NodeData {
    const at = this.among(TIMES);
    if (this.isDrawn(20)) return { id, type: 'wait_until', at, weekdays: this.among([[1], [6, 7], [2, 4]]) };
    if (this.isDrawn(50)) return { id, type: 'wait_until', ...this.among(CLOCK_CHANGES) };
    const shift = this.among([{}, { before: { days: 3 } }, { after: { weeks: 1 } }]);
    return { id, type: 'wait_until', at, field: 'ENDS', yearly: this.isDrawn(60), ...shift };
  }

  #question(depth: number, isAlone: boolean): Question {
    const kind = depth === 0 ? 'one' : this.among(['one', 'one', 'all', 'any', 'none'] as const);
    if (kind !== 'one')
      return { [kind]: Array.from({ length: this.between(1, 3) }, () => this.#question(depth - 1, isAlone)) };
    const ofPayload = this.among<NonNullable<Question['payload']>>([
      { path: 'total', number: this.among([{ gte: 50 }, { lt: 50 }]) },
      { path: 'cart', text: this.among([{ is: 'A' }, { isNot: 'a' }, { contains: 'b' }, { isEmpty: true }]) },
      { path: 'total', isPresent: this.isDrawn(50) },
    ]);
    if (!isAlone || this.isDrawn(30)) return { payload: ofPayload };
    const mail = this.among(['n0', 'n1', 'n2', 'n3']);
    return this.among<Question>([
      { opened: { mail, ...(this.isDrawn(30) && { machines: true }) } },
      { clicked: { mail } },
      {
        person: {
          field: {
            tag: 'LEVEL',
            text: this.among([{ is: 'Gold' }, { isNot: 'silver' }, { contains: 'o' }, { isEmpty: true }]),
          },
        },
      },
      { person: { tags: { hasAny: [this.among(TAGS)] } } },
      { person: { tags: { hasNone: ['vip', 'silver'] } } },
    ]);
  }

  happenings({
    people,
    publications,
    mails,
    changes,
  }: {
    readonly people: number;
    readonly publications: number;
    readonly mails: readonly string[];
    readonly changes: RandomChanges | undefined;
  }): Happening[] {
    const all: Happening[] = [];
    let at = BEGIN;
    let toPublish = publications;
    let isPaused = false;
    const length = this.between(8, 30);
    for (let no = 0; no < length; no += 1) {
      at += this.among([0, MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 7 * HOUR_MS, 24 * HOUR_MS, 60 * HOUR_MS]);
      const person = this.between(0, people - 1);
      if (changes && no > 1 && this.isDrawn(35)) {
        all.push(...changes.next(at, person));
        continue;
      }
      const what = this.isDrawn(25) && no > 0 ? 'other' : this.among(['execute', 'work', 'work'] as const);
      if (what === 'execute') all.push({ at, do: 'execute', person, payload: this.payload() });
      else if (what === 'work') all.push(...this.#work(at));
      else if (toPublish > 0 && this.isDrawn(40)) {
        toPublish -= 1;
        all.push({ at, do: 'publish' });
      } else {
        const next = this.#other(at, { person, isPaused, mails });
        if (next.do === 'pause' || next.do === 'activate') isPaused = next.do === 'pause';
        all.push(next);
      }
    }
    if (isPaused) all.push({ at, do: 'activate' });
    all.push(...(changes?.atEnd(at) ?? []));
    return [...all, { at: at + 100 * HOUR_MS, do: 'work' }, { at: at + 900 * HOUR_MS, do: 'work' }];
  }

  /** `killAfter` for one that dies; undefined: none does. */
  death(): number | undefined {
    return this.isDrawn(20) ? this.between(1, KILLED_WITHIN) : undefined;
  }

  #work(at: number): Happening[] {
    const killAfter = this.death();
    // It dies, and another process goes on at the same time.
    return [...(killAfter === undefined ? [] : [{ at, do: 'work' as const, killAfter }]), { at, do: 'work' }];
  }

  payload(): Payload {
    return {
      ...(this.isDrawn(80) && { cart: this.among(['a', 'B', 'cc']) }),
      ...(this.isDrawn(70) && { total: this.among([10, 50, 99, '70']) }),
    };
  }

  #other(
    at: number,
    {
      person,
      isPaused,
      mails,
    }: { readonly person: number; readonly isPaused: boolean; readonly mails: readonly string[] },
  ): Happening {
    if (isPaused && this.isDrawn(60)) return { at, do: 'activate' };
    const act = (): Happening => {
      if (mails.length === 0) return this.#event(at, person);
      return {
        at,
        do: this.among(['open', 'click'] as const),
        person,
        node: this.among(mails),
        isMachine: this.isDrawn(20),
      };
    };
    return this.among<() => Happening>([
      ...[act, act, () => this.#event(at, person), () => this.#event(at, person)],
      () => ({ at, do: 'set', person, field: 'ENDS', value: this.among(DATES) }),
      () => ({ at, do: 'suppress', person }),
      () => ({ at, do: 'set', person, field: 'LEVEL', value: this.among(LEVELS) }),
      () => ({ at, do: 'set', person, field: 'ZONE', value: this.among(ZONES) }),
      () => ({ at, do: 'tag', person, tag: this.among([...TAGS, 'VIP', 'SILVER']) }),
      () => ({ at, do: 'unsubscribe', person }),
      () => ({ at, do: 'delete', person }),
      () => (isPaused ? { at, do: 'activate' } : { at, do: 'pause' }),
    ])();
  }

  #event(at: number, person: number): Happening {
    return { at, do: 'event', person, name: this.among(['order', 'order', 'visit']), payload: this.payload() };
  }
}
