/** Random changes of a flow while people are inside: publications with moves, the job, who comes late, and who has finished (D84). */
import type { FlowData, Happening, MovesData, Payload } from './flow-data.ts';

interface Draw {
  among<Value>(values: readonly Value[]): Value;
  isDrawn(percent: number): boolean;
  death(): number | undefined;
  payload(): Payload;
}

export class RandomChanges {
  readonly #draw: Draw;
  readonly #flows: readonly FlowData[];
  /** The version that is live. */
  #live = 0;
  /** People have not been moved yet. */
  #isUnderWay = false;

  constructor(draw: Draw, flows: readonly FlowData[]) {
    this.#draw = draw;
    this.#flows = flows;
  }

  /** What happens next; `person`: to whom. */
  next(at: number, person: number): Happening[] {
    if (this.#isUnderWay && this.#draw.isDrawn(60)) return this.#move(at);
    if (this.#draw.isDrawn(20)) return this.#late(at, person);
    if (this.#live + 1 < this.#flows.length && this.#draw.isDrawn(60)) return this.#publish(at);
    return [{ at, do: 'send', node: this.#nodeOf(this.#live) }];
  }

  /** Nobody is left on the way. */
  atEnd(at: number): Happening[] {
    return this.#isUnderWay ? this.#move(at) : [];
  }

  #publish(at: number): Happening[] {
    this.#live += 1;
    // Another change with moves would be refused meanwhile.
    if (this.#isUnderWay || this.#draw.isDrawn(15)) return [{ at, do: 'publish' }];
    this.#isUnderWay = true;
    const published: Happening[] = [{ at, do: 'publish', moves: this.#moves(this.#live) }];
    return this.#draw.isDrawn(50) ? [...published, ...this.#move(at)] : published;
  }

  #moves(version: number): MovesData {
    const ids = [...new Set(this.#flows.slice(0, version).flatMap(({ nodes }) => nodes.map(({ id }) => id)))];
    const target = (id: string): [string, string] => [id, this.#nodeOf(version)];
    const known = ids.filter((id) => this.#flows[version]?.nodes.some((node) => node.id === id) === true);
    return {
      named: Object.fromEntries(known.filter(() => this.#draw.isDrawn(20)).map(target)),
      whenAsked: Object.fromEntries(ids.map(target)),
      parked: this.#draw.isDrawn(60),
    };
  }

  #nodeOf(version: number): string {
    return this.#draw.among(this.#flows[version]?.nodes ?? []).id;
  }

  /** It may die, and another process goes on. */
  #move(at: number): Happening[] {
    this.#isUnderWay = false;
    const killAfter = this.#draw.death();
    return [...(killAfter === undefined ? [] : [{ at, do: 'move' as const, killAfter }]), { at, do: 'move' }];
  }

  /** Somebody was on the way into the version before; most are found by a last round. */
  #late(at: number, person: number): Happening[] {
    const came: Happening = { at, do: 'execute', person, payload: this.#draw.payload(), isLate: true };
    return this.#isUnderWay || this.#draw.isDrawn(30) ? [came] : [came, { at, do: 'move', isLast: true }];
  }
}
