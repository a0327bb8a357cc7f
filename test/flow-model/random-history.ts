/** Random flows, people and what happens to them, from a seed: the same seed gives the same history. */
import { isDeepStrictEqual } from 'node:util';
import { seededRandom } from '../chaos/random.ts';
import type { Happening, HistoryData, LateChoice, NodeData, Payload } from './flow-data.ts';
import { RandomChanges } from './random-changes.ts';
import { DATES, FlowDraw, LEVELS, TAGS } from './random-flow.ts';
import { RandomOperations } from './random-operations.ts';
import { BEGIN, ZONES } from './seldom-histories.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const QUIET = [
  { from: '22:00', to: '07:00' },
  { from: '02:00', to: '12:30' },
  { from: '22:00', to: '07:00', timezone: 'America/New_York' },
  { from: '02:00', to: '12:30', timezone: 'Asia/Kolkata' },
];
const CAPS = [
  { messages: 1, days: 2, holdDays: 3 },
  { messages: 1, days: 5, holdDays: 2 },
  { messages: 2, days: 3, holdDays: 1 },
];
const KILLED_WITHIN = 60;

/** Nodes about which something happens. */
interface NodesByWork {
  readonly mails: readonly string[];
  readonly calls: readonly string[];
}

/** `moves`: the flow changes while people are inside, who are moved (D84). */
export function randomHistory(seed: number, { moves = false }: { readonly moves?: boolean } = {}): HistoryData {
  const draw = new Draw(seededRandom(seed));
  const entry = draw.entry();
  const started = draw.others(entry);
  const drawn = moves ? draw.versions(entry) : Array.from({ length: draw.among([1, 1, 2]) }, () => draw.flow(entry));
  // A flow that is published already is no new version.
  const flows = drawn.filter((flow, no) => !isDeepStrictEqual(flow, drawn[no - 1]));
  const people = Array.from({ length: draw.between(1, 5) }, () => draw.fields());
  const named = (type: NodeData['type']) =>
    flows.flatMap(({ nodes }) => nodes.filter((node) => node.type === type).map(({ id }) => id));
  const nodes = { mails: named('send_mail'), calls: named('api_call') };
  return {
    ...{ flows, people, ...(started.length > 0 && { started }) },
    happenings: draw.happenings({
      ...{ people: people.length, publications: moves ? 0 : flows.length - 1, nodes },
      changes: moves ? new RandomChanges(draw, flows) : undefined,
      operations: new RandomOperations(draw, flows, people.length),
    }),
    there: people.map(() => draw.personThere()),
    ...(draw.isDrawn(40) && { quiet: draw.among(QUIET) }),
    ...(draw.isDrawn(50) && { cap: draw.among(CAPS) }),
    ...(draw.isDrawn(40) && { customerCap: draw.among(CAPS) }),
  };
}

class Draw extends FlowDraw {
  happenings({
    people,
    publications,
    nodes,
    changes,
    operations,
  }: {
    readonly people: number;
    readonly publications: number;
    readonly nodes: NodesByWork;
    readonly changes: RandomChanges | undefined;
    readonly operations: RandomOperations;
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
      if (no > 1 && this.isDrawn(15)) {
        all.push(...operations.next(at, isPaused));
        at = all.at(-1)?.at ?? at;
        continue;
      }
      const what = this.isDrawn(25) && no > 0 ? 'other' : this.among(['execute', 'work', 'work'] as const);
      if (what === 'execute') all.push({ at, do: 'execute', person, payload: this.payload() });
      else if (what === 'work') all.push(...this.#work(at));
      else if (toPublish > 0 && this.isDrawn(40)) {
        toPublish -= 1;
        all.push({ at, do: 'publish' });
      } else {
        const next = this.#other(at, { person, isPaused, nodes, late: operations.late() });
        if (next.do === 'pause' || next.do === 'activate') isPaused = next.do === 'pause';
        all.push(next);
      }
    }
    if (isPaused) all.push({ at, do: 'activate' });
    all.push(...(changes?.atEnd(at) ?? []));
    const last = [100, 900].map((hours): Happening => ({ at: at + hours * HOUR_MS, do: 'work' }));
    return [...all, ...last].map((one) => this.#dying(one));
  }

  /** Who reads what has happened, or does a job of it, may die. */
  #dying(one: Happening): Happening {
    const dies = this.isDrawn(12) ? this.between(1, KILLED_WITHIN) : undefined;
    return dies === undefined || 'killAfter' in one || one.isUnread === true ? one : { ...one, dies };
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
      nodes: { mails, calls },
      late,
    }: {
      readonly person: number;
      readonly isPaused: boolean;
      readonly nodes: NodesByWork;
      readonly late: LateChoice | undefined;
    },
  ): Happening {
    const activate = { at, do: 'activate' as const, ...(late && { late }) };
    if (isPaused && this.isDrawn(60)) return activate;
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
      ...Array.from({ length: calls.length === 0 ? 0 : 4 }, () => () => this.#call(at, person, calls)),
      ...[act, act, () => this.#event(at, person), () => this.#event(at, person)],
      ...Array.from({ length: 4 }, () => () => Object.assign({ at, person }, this.change())),
      () => ({ at, do: 'suppress', person }),
      () => ({ at, do: 'unsubscribe', person }),
      () => ({ at, do: 'delete', person }),
      () => ({ at, do: 'take_out', person }),
      () => (isPaused ? activate : { at, do: 'pause' }),
    ])();
  }

  /** What changes a person. */
  change() {
    const set = (field: string, values: readonly string[]) => ({
      do: 'set' as const,
      field,
      value: this.among(values),
    });
    return this.among([
      () => set('ENDS', DATES),
      () => set('LEVEL', LEVELS),
      () => set('ZONE', ZONES),
      () => ({ do: 'tag' as const, tag: this.among([...TAGS, 'VIP', 'SILVER']) }),
    ])();
  }

  #call(at: number, person: number, calls: readonly string[]): Happening {
    const call = { at, node: this.among(calls), payload: this.payload() };
    return this.isDrawn(70) ? { ...call, do: 'call', person } : { ...call, do: 'call_all' };
  }

  #event(at: number, person: number): Happening {
    return { at, do: 'event', person, name: this.among(['order', 'order', 'visit']), payload: this.payload() };
  }
}
