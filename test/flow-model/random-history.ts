/** Random flows, people and what happens to them, from a seed: the same seed gives the same history. */
import { seededRandom, type Random } from '../chaos/random.ts';
import type { EntryData, FlowData, Happening, HistoryData, NodeData, Payload, Question } from './flow-data.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Clocks change in New York on the 8th, in Berlin on the 29th of March, on Lord Howe Island (by half an hour) on the 5th of April. */
const BEGIN = Date.parse('2026-03-04T10:00:00Z');
const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia'];
const TAGS = ['vip', 'Silver'];
const LEVELS = ['gold', 'Silver', 'none', ''];
const DATES = ['2026-03-29', '2026-03-20', '2024-02-29', '2024-02-29', '1990-04-05', '2026-05-01', ''];
const TIMES = ['00:00', '01:45', '02:00', '02:30', '03:10', '09:00', '23:30'];
/** Local times that clocks in one of the zones skip or show twice, and a day that has passed. */
const CLOCK_CHANGES = [
  { date: '2026-03-08', at: '02:30' },
  { date: '2026-03-29', at: '02:30' },
  { date: '2026-10-04', at: '02:15' },
  { date: '2026-04-05', at: '01:45' },
  { date: '2026-10-25', at: '02:30' },
  { date: '2026-11-01', at: '01:30' },
  { date: '2026-03-01', at: '09:00' },
];
const KILLED_WITHIN = 60;
const EDGE_SHARE = 85;
const BACK_SHARE = 30;

export function randomHistory(seed: number): HistoryData {
  const draw = new Draw(seededRandom(seed));
  const entry = draw.entry();
  const flows = Array.from({ length: draw.among([1, 1, 2]) }, () => draw.flow(entry));
  const people = Array.from({ length: draw.between(1, 5) }, () => draw.fields());
  return { flows, people, happenings: draw.happenings(people.length, flows.length - 1) };
}

class Draw {
  readonly #random: Random;
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

  flow(entry: EntryData): FlowData {
    const size = this.between(1, 8);
    // Several runs of one person see each other's changes: which of them comes first is not promised.
    const isAlone = entry.mode === 'once' || entry.mode === 'after_end';
    const nodes = Array.from({ length: size }, (_, no) => this.#node(`n${no}`, isAlone));
    const edges = [{ from: 'start', port: 'next', to: 'n0' }];
    for (const [no, node] of nodes.entries()) {
      for (const port of portsOf(node)) {
        const isBack = isLongWait(node) && this.isDrawn(BACK_SHARE);
        if (isBack) edges.push({ from: node.id, port, to: `n${this.between(0, no)}` });
        else if (no + 1 < size && this.isDrawn(EDGE_SHARE))
          edges.push({ from: node.id, port, to: `n${this.between(no + 1, Math.min(size - 1, no + 2))}` });
      }
    }
    return {
      triggers: [{ type: 'execute' }],
      entry,
      nodes,
      edges,
      holidays: ['2026-03-09', '2026-03-10', '2026-04-03'],
      passesMax: this.between(1, 4),
    };
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
    ];
    return this.among(isAlone ? draws : draws.slice(0, 5))();
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
    if (!isAlone || this.isDrawn(40)) return { payload: ofPayload };
    return this.among<Question>([
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

  happenings(people: number, publications: number): Happening[] {
    const all: Happening[] = [];
    let at = BEGIN;
    let toPublish = publications;
    let isPaused = false;
    const length = this.between(8, 30);
    for (let no = 0; no < length; no += 1) {
      at += this.among([0, MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 7 * HOUR_MS, 24 * HOUR_MS, 60 * HOUR_MS]);
      const person = this.between(0, people - 1);
      const what = this.isDrawn(25) && no > 0 ? 'other' : this.among(['execute', 'work', 'work'] as const);
      if (what === 'execute') all.push({ at, do: 'execute', person, payload: this.#payload() });
      else if (what === 'work') all.push(...this.#work(at));
      else if (toPublish > 0 && this.isDrawn(40)) {
        toPublish -= 1;
        all.push({ at, do: 'publish' });
      } else {
        const next = this.#other(at, person, isPaused);
        if (next.do === 'pause' || next.do === 'activate') isPaused = next.do === 'pause';
        all.push(next);
      }
    }
    if (isPaused) all.push({ at, do: 'activate' });
    return [...all, { at: at + 100 * HOUR_MS, do: 'work' }, { at: at + 900 * HOUR_MS, do: 'work' }];
  }

  #work(at: number): Happening[] {
    if (!this.isDrawn(20)) return [{ at, do: 'work' }];
    // It dies, and another process goes on at the same time.
    return [
      { at, do: 'work', killAfter: this.between(1, KILLED_WITHIN) },
      { at, do: 'work' },
    ];
  }

  #payload(): Payload {
    return {
      ...(this.isDrawn(80) && { cart: this.among(['a', 'B', 'cc']) }),
      ...(this.isDrawn(70) && { total: this.among([10, 50, 99, '70']) }),
    };
  }

  #other(at: number, person: number, isPaused: boolean): Happening {
    if (isPaused) return { at, do: 'activate' };
    return this.among<() => Happening>([
      () => ({ at, do: 'set', person, field: 'LEVEL', value: this.among(LEVELS) }),
      () => ({ at, do: 'set', person, field: 'ZONE', value: this.among(ZONES) }),
      () => ({ at, do: 'tag', person, tag: this.among([...TAGS, 'VIP', 'SILVER']) }),
      () => ({ at, do: 'unsubscribe', person }),
      () => ({ at, do: 'delete', person }),
      () => ({ at, do: 'pause' }),
    ])();
  }
}

/** What the draw brings too seldom: each change of clocks for a person of each zone, a question about a field, entries without end. */
export function seldomHistories(): readonly HistoryData[] {
  const rest = { triggers: [{ type: 'execute' as const }], holidays: [], passesMax: 1 };
  const start = { from: 'start', port: 'next', to: 'n0' };
  const clocks = CLOCK_CHANGES.map((change): HistoryData => {
    const nodes: readonly NodeData[] = [{ id: 'n0', type: 'wait_until', ...change }];
    const entered = ZONES.map((_, person): Happening => ({ at: BEGIN, do: 'execute', person, payload: {} }));
    return {
      flows: [{ ...rest, entry: { mode: 'once' }, nodes, edges: [start] }],
      people: ZONES.map((ZONE) => ({ ZONE })),
      happenings: [...entered, { at: BEGIN, do: 'work' }],
    };
  });
  const again = Array.from({ length: 22 }, (): Happening[] => [
    { at: BEGIN, do: 'execute', person: 0, payload: {} },
    { at: BEGIN, do: 'work' },
  ]);
  const end: readonly NodeData[] = [{ id: 'n0', type: 'end' }];
  const loop = { ...rest, entry: { mode: 'after_end' as const }, nodes: end, edges: [start] };
  const asks: NodeData = {
    id: 'n0',
    type: 'condition',
    if: { person: { field: { tag: 'LEVEL', text: { is: 'Gold' } } } },
  };
  const asking: HistoryData = {
    flows: [{ ...rest, entry: { mode: 'once' }, nodes: [asks], edges: [start] }],
    people: [{ LEVEL: 'gold' }, { LEVEL: 'Silver' }],
    happenings: [
      { at: BEGIN, do: 'execute', person: 0, payload: {} },
      { at: BEGIN, do: 'execute', person: 1, payload: {} },
      { at: BEGIN, do: 'work' },
    ],
  };
  return [...clocks, asking, { flows: [loop], people: [{}], happenings: again.flat() }];
}

/** The ports that lead somewhere in these flows. */
function portsOf(node: NodeData): readonly string[] {
  switch (node.type) {
    case 'end':
      return [];
    case 'condition':
      return ['yes', 'no'];
    case 'split':
      return node.variants.map(({ name }) => `variant:${name}`);
    case 'wait_until':
      return node.field === undefined ? ['next', 'late'] : ['next', 'late', 'no_date'];
    default:
      return ['next'];
  }
}

/** Only behind such a wait an edge may lead back (D83). */
function isLongWait(node: NodeData): boolean {
  if (node.type === 'wait_until') return node.weekdays !== undefined;
  return node.type === 'wait' && (node.for.minutes ?? 60) >= 60;
}
