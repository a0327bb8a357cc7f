/** Who was late when the flow of the reference went on after a pause, and what was chosen for them (D85). No code of the product is used. */
import type { LateChoice } from './flow-data.ts';
import type { Rules } from './rules.ts';
import type { Run, Runs } from './runs.ts';

/** Those of one node: late were who should have moved on until then. */
interface Queue extends LateChoice {
  readonly until: number;
  readonly from: number;
  readonly total: number;
  gone: number;
}

const placeOf = ({ version, node }: Run): string => `${version} ${node}`;

export class LatePeople {
  readonly #runs: Runs;
  readonly #rules: Rules;
  /** By version and node. */
  #queues = new Map<string, Queue>();

  constructor(runs: Runs, rules: Rules) {
    this.#runs = runs;
    this.#rules = rules;
  }

  /** The flow goes on: what was chosen before is over. */
  goOn(now: number, choice: LateChoice | undefined): void {
    this.#queues = new Map();
    if (!choice) return;
    const until = this.#rules.lateUntil(choice, now);
    const late = this.#runs.all.filter(({ wake }) => wake !== null && wake <= until);
    for (const [place, { length: total }] of Map.groupBy(late, placeOf))
      this.#queues.set(place, { ...choice, until, from: now, total, gone: 0 });
  }

  /** Whether others are before the run, or its turn comes later. */
  isHeld(run: Run, now: number): boolean {
    const queue = this.#queueOf(run);
    if (!queue) return false;
    const others = this.#runs.all.filter((one) => placeOf(one) === placeOf(run) && this.#queueOf(one));
    const [first] = others.toSorted((one, other) => (one.wake ?? 0) - (other.wake ?? 0));
    return first !== run || now < this.#rules.turnOf(queue, queue.gone);
  }

  /** The run’s turn; undefined: it was not late. What was chosen for it is asked of it. */
  take(run: Run): number | undefined {
    const queue = this.#queueOf(run);
    if (!queue) return undefined;
    run.asked ??= this.#rules.askedOfLate(queue);
    queue.gone += 1;
    return this.#rules.turnOf(queue, queue.gone - 1);
  }

  #queueOf(run: Run): Queue | undefined {
    const queue = this.#queues.get(placeOf(run));
    return queue && run.wake !== null && run.wake <= queue.until ? queue : undefined;
  }
}
