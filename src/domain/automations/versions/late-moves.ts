/**
 * Runs that were late when their flow went on, and are moved to another version before their turn has come: what was chosen for them at their node
 * (D85) is written to them, as the node that they come to knows nothing of it.
 */
import type { Transaction } from '../../../db/database.ts';
import type { TransactionContext } from '../../context.ts';
import { requestOf, releaseOf, type LateRuns } from '../runs/late-runs.ts';
import type { MovedRun, PlacedRun } from './moved-run.ts';
import { countLate } from '../runs/node-count-store.ts';
import { nodeState } from '../runs/node-store.ts';
import type { NodeKey } from '../runs/run.ts';

/** What was chosen at one node; it gives turns to those who are moved, one after the other. */
export interface Lateness {
  chosenFor(run: PlacedRun, moved: MovedRun): MovedRun;
  /** Counts those who were late: they wait for their turn elsewhere. */
  count(tx: Transaction): void;
}

const NOT_LATE: Lateness = { chosenFor: (_run, moved) => moved, count: () => undefined };

/** What was chosen for those who were late at the node; of one where nobody was, nothing. */
export async function latenessOf(ctx: TransactionContext, key: NodeKey): Promise<Lateness> {
  const late = (await nodeState(ctx.db, key))?.late;
  return late ? new ChosenLateness(key, late) : NOT_LATE;
}

class ChosenLateness implements Lateness {
  readonly #key: NodeKey;
  readonly #late: LateRuns;
  #runs = 0;

  constructor(key: NodeKey, late: LateRuns) {
    this.#key = key;
    this.#late = late;
  }

  chosenFor(run: PlacedRun, moved: MovedRun): MovedRun {
    const { until, done } = this.#late;
    if (run.wakeAt === null || run.wakeAt > until) return moved;
    const release = releaseOf(this.#late, done + this.#runs);
    this.#runs += 1;
    const { to } = moved;
    const isEarly = to.wakeAt !== null && to.wakeAt < release;
    const isLate = to.wakeAt !== null && to.wakeAt <= until;
    return {
      ...moved,
      // Who waits in the new version is late no more.
      run: { ...moved.run, reason: moved.run.reason ?? (isLate ? requestOf(this.#late) : null) },
      to: isEarly ? { ...to, wakeAt: release } : to,
    };
  }

  count(tx: Transaction): void {
    if (this.#runs > 0) countLate(tx, this.#key, { runs: this.#runs, from: this.#late.from });
  }
}
