/** Random flows, and what becomes of them, by the same draw as the histories. */
import type { Random } from '../chaos/random.ts';
import type {
  AskedAct,
  EntryData,
  FlowData,
  NodeData,
  PersonThere,
  Question,
  TimedTrigger,
  WayOut,
} from './flow-data.ts';
import { isLongWait, portsOf, sensible, withoutKey } from './flow-shape.ts';
import { CLOCK_CHANGES, ZONES } from './seldom-histories.ts';

export const TAGS = ['vip', 'Silver'];
export const LEVELS = ['gold', 'Silver', 'none', ''];
export const DATES = ['2026-03-29', '2026-03-20', '2024-02-29', '2024-02-29', '1990-04-05', '2026-05-01', ''];
const TIMES = ['00:00', '01:45', '02:00', '02:30', '03:10', '09:00', '23:30'];
const EDGE_SHARE = 85;
/** Without one people are parked. */
const ERROR_SHARE = 30;
const BACK_SHARE = 30;
/** Of histories in which flows start another one, and of nodes that do. */
const OTHERS_SHARE = 30;
const START_SHARE = 20;
/** How often a flow changes. */
const LATER_VERSIONS = [1, 1, 2];
/** Of the nodes that change, how many do other work then. */
const OTHER_WORK_SHARE = 30;

export class FlowDraw {
  readonly #random: Random;
  /** Nodes of later versions. */
  #made = 0;
  /** Flows that nodes may start. */
  #others = 0;

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

  /** Other flows that this one may start: of two entries of one person at once it is not promised which comes first. */
  others(main: EntryData): readonly FlowData[] {
    if (main.mode === 'after_days' || !this.isDrawn(OTHERS_SHARE)) return [];
    const byKey: EntryData = { mode: 'per_key', key: 'cart' };
    const entry =
      main.mode === 'per_key'
        ? byKey
        : this.among<EntryData>([byKey, { mode: 'once' }, { mode: 'after_days', days: 1 }]);
    const flow = { ...this.flow(entry, undefined, false), triggers: [{ type: 'execute' as const }] };
    this.#others = 1;
    return [flow];
  }

  /** A flow and what becomes of it. */
  versions(entry: EntryData): readonly FlowData[] {
    const all = [this.flow(entry)];
    for (let more = this.among(LATER_VERSIONS); more > 0; more -= 1) all.push(this.flow(entry, all.at(-1)));
    return all;
  }

  /**
   * `before`: the version before. `isAlone`: one person has one run at a time. Several see each other's changes, and which of them comes first is
   * not promised.
   */
  flow(entry: EntryData, before?: FlowData, isAlone = entry.mode === 'once' || entry.mode === 'after_end'): FlowData {
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
        else if (no + 1 < size && this.isDrawn(port === 'error' ? ERROR_SHARE : EDGE_SHARE))
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
    if (this.#others > 0 && this.isDrawn(START_SHARE))
      return { id, type: 'start_flow', flow: this.between(0, this.#others - 1) };
    const draws: readonly (() => NodeData)[] = [
      () => ({ id, type: 'wait', for: this.among([{ minutes: 30 }, { minutes: 90 }, { hours: 5 }, { hours: 30 }]) }),
      () => ({
        ...{ id, type: 'wait' as const, for: this.among([{ days: 1 }, { days: 4 }, { weeks: 1 }]) },
        ...(this.isDrawn(60) && { at: this.among(TIMES) }),
        ...(this.isDrawn(30) && { weekdays: this.among([[1, 2, 3, 4, 5], [7], [1, 3]]) }),
        ...(this.isDrawn(40) && { skipHolidays: true }),
      }),
      () => this.#until(id),
      ...Array.from({ length: 3 }, () => () => this.#mail(id, isAlone)),
      () => this.#eventWait(id, isAlone),
      () => this.#apiCall(id),
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
      // Who leaves the list leaves other flows, too, before or after what is due there.
      () => ({ id, type: this.#others > 0 || this.isDrawn(50) ? 'end' : 'unsubscribe' }),
      ...Array.from({ length: 2 }, () => (): NodeData => ({
        ...{ id, type: this.#others === 0 && this.isDrawn(33) ? 'move_to_list' : 'copy_to_list' },
        onConflict: this.among(['keep', 'overwrite', 'fill_empty'] as const),
      })),
    ];
    return this.among(isAlone ? draws : draws.slice(0, 10))();
  }

  #mail(id: string, isAlone: boolean): NodeData {
    return {
      ...{ id, type: 'send_mail', templateUid: this.among(['A', 'A', 'B', 'C'] as const) },
      // Of several runs of one person it is not promised which comes first.
      ...(isAlone && this.isDrawn(40) && { notAgainWithinDays: this.between(1, 4) }),
      ...(isAlone && this.isDrawn(30) && { isGoodbye: true }),
    };
  }

  #apiCall(id: string): NodeData {
    if (this.isDrawn(25)) return { id, type: 'webhook' };
    if (this.isDrawn(25)) return { id, type: 'api_call' };
    return { id, type: 'api_call', for: this.among([{ minutes: 90 }, { hours: 24 }, { days: 2 }, { weeks: 1 }]) };
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
}
