/** Random work of those who run a flow: bulk acts, people who enter by what they are, failed and late people, and messages of others. */
import type { FlowData, Happening, LateChoice } from './flow-data.ts';

const HOUR_MS = 3_600_000;

type Change = Happening extends infer One ? (One extends Happening ? Omit<One, 'at' | 'person'> : never) : never;

interface Draw {
  among<Value>(values: readonly Value[]): Value;
  between(low: number, high: number): number;
  isDrawn(percent: number): boolean;
  /** Something that is done to a person: a tag, or another value. */
  change(): Change;
}

export class RandomOperations {
  readonly #draw: Draw;
  readonly #people: number;
  readonly #isKeyed: boolean;
  readonly #startsOthers: boolean;
  /** People are parked at some of them. */
  readonly #nodes: readonly string[];

  constructor(draw: Draw, flows: readonly FlowData[], people: number) {
    this.#draw = draw;
    this.#people = people;
    this.#isKeyed = flows[0]?.entry.mode === 'per_key';
    const nodes = flows.flatMap((flow) => flow.nodes);
    const failing = nodes.filter(({ type }) => ['copy_to_list', 'move_to_list', 'start_flow'].includes(type));
    this.#nodes = (failing.length > 0 ? failing : nodes).map(({ id }) => id);
    this.#startsOthers = nodes.some(({ type }) => type === 'start_flow');
  }

  next(at: number, isPaused: boolean): Happening[] {
    return this.#draw.among<() => Happening[]>([
      () => this.#bulk(at),
      () => [{ at, do: this.#draw.among(['retry', 'skip'] as const), node: this.#draw.among(this.#nodes) }],
      () => (this.#isKeyed ? this.#bulk(at) : [{ at, do: 'existing' }]),
      () => this.#campaign(at),
      () => (this.#startsOthers ? [{ at, do: 'stop' }] : this.#campaign(at)),
      ...Array.from({ length: 2 }, () => () => (isPaused ? this.#campaign(at) : this.#stop(at))),
    ])();
  }

  /** The flow is stopped for so long that people are late, who go on as is chosen. */
  #stop(at: number): Happening[] {
    const then = at + HOUR_MS * this.#draw.among([3, 8, 26, 50]);
    const late = this.late();
    return [
      { at, do: 'pause' },
      ...(this.#draw.isDrawn(40) ? this.#bulk(then) : []),
      { at: then, do: 'activate', ...(late && { late }) },
      { at: then, do: 'work' },
      { at: then + HOUR_MS * this.#draw.among([1, 5]), do: 'work' },
    ];
  }

  /** It takes a place in each reader's cap. */
  #campaign(at: number): Happening[] {
    const isElsewhere = this.#draw.isDrawn(40);
    return this.#some().map((person) => ({ at, do: 'campaign', person, ...(isElsewhere && { isElsewhere }) }));
  }

  #some(): readonly number[] {
    return Array.from({ length: this.#people }, (_, no) => no).filter(() => this.#draw.isDrawn(80));
  }

  /** What is chosen for late people; undefined: nothing. */
  late(): LateChoice | undefined {
    if (this.#draw.isDrawn(30)) return undefined;
    const mode = this.#draw.among(['spread', 'spread', 'skip_mails', 'wait_anew'] as const);
    return { mode, hours: this.#draw.among([1, 3, 10, 30]) };
  }

  /** The same for several people, which is read in one go. */
  #bulk(at: number): Happening[] {
    const change = this.#draw.change();
    const all = this.#some();
    return all.map((person, no): Happening => {
      const one: Happening = Object.assign({ at, person }, change);
      return no + 1 < all.length ? { ...one, isUnread: true } : one;
    });
  }
}
