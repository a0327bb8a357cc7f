/** Publications of the reference that move people to the new version, and what becomes of each of them (D84). No code of the product is used. */
import type { MovesData, NodeData, Targets } from './flow-data.ts';
import type { Means as EntryMeans } from './entries.ts';
import type { LatePeople } from './late-people.ts';
import { isLater, type Run } from './runs.ts';

interface Means extends EntryMeans {
  readonly late: LatePeople;
}

export class Moves {
  /** Of each publication with moves: the nodes for which a target is missing at first, or why nothing is published. */
  readonly answers: string[] = [];
  readonly #means: Means;
  #asked: { readonly version: number; readonly targets: Targets; readonly parked: boolean } | undefined;
  #isUnderWay = false;

  constructor(means: Means) {
    this.#means = means;
  }

  /** Whether the next flow is published. */
  publish(moves: MovesData | undefined): boolean {
    const { flows, runs, rules } = this.#means;
    const version = runs.published + 1;
    if (moves && this.#isUnderWay) {
      this.answers.push('PEOPLE_IN_MOVE');
      return false;
    }
    runs.published = version;
    if (!moves) return true;
    const { named, whenAsked, parked } = moves;
    const nodes = flows[version]?.nodes ?? [];
    const missing = runs.all
      .filter((run) => rules.isMoved(run, moves) && !rules.targetOf(nodes, named, runs.node(run)))
      .map(({ node }) => node);
    const asked = Object.fromEntries(Object.entries(whenAsked).filter(([id]) => missing.includes(id)));
    this.answers.push([...new Set(missing)].toSorted().join(' '));
    this.#asked = { version, targets: { ...named, ...asked }, parked };
    this.#isUnderWay = true;
    return true;
  }

  /** The job: whoever is in an earlier version is moved, if there is a target. */
  move(now: number, isLast: boolean): void {
    const { flows, runs, rules } = this.#means;
    const asked = this.#asked;
    if (!asked || (isLast && !rules.movesLate)) return;
    for (const run of [...runs.all]) {
      if (run.version >= asked.version || !rules.isMoved(run, asked)) continue;
      const target = rules.targetOf(flows[asked.version]?.nodes ?? [], asked.targets, runs.node(run));
      if (target) this.#move(run, now, { version: asked.version, target });
    }
    if (!isLast) this.#isUnderWay = false;
  }

  #move(run: Run, now: number, { version, target }: { readonly version: number; readonly target: NodeData }): void {
    const { runs, rules, late } = this.#means;
    const before = { version: run.version, node: run.node, type: runs.node(run).type };
    const place = () => ({ node: runs.node(run), flow: runs.flow(run) });
    const placeBefore = place();
    const still = run.isParked ? 'parked' : 'waiting';
    const isThere = before.node === target.id && before.type === target.type;
    if (!isThere && !rules.staysAsked(run.asked)) run.asked = undefined;
    const turn = late.take(run);
    runs.step(run, now, { what: 'left', reason: 'new_version' });
    runs.count(run)[still] -= 1;
    runs.count(run).left += 1;
    Object.assign(run, { version, node: target.id });
    runs.step(run, now, { what: 'moved', reason: 'new_version' });
    runs.count(run).entered += 1;
    runs.count(run)[still] += 1;
    runs.passOver(run, before);
    if (runs.isRound(version, target.id))
      run.passes.set(target.id, rules.passesAfter(run.passes.get(target.id) ?? 0, isThere));
    if (run.isParked) return;
    if (!isThere || !rules.isUnchanged(placeBefore, place())) this.#begin(run, now, isThere);
    if (!isThere && rules.firesForCall(target.type, run.isAtWork)) runs.fire(run);
    // Who waits in the new version is late no more; who was late when the flow went on keeps the turn (D85).
    if (isLater(run.wake, now)) run.asked = undefined;
    if (turn !== undefined && run.wake !== null) run.wake = Math.max(run.wake, turn);
  }

  /** At the node of the new version, with the time that the run has waited. */
  #begin(run: Run, now: number, isThere: boolean): void {
    const { runs, rules } = this.#means;
    const target = runs.node(run);
    if (!rules.countsOn(target, isThere)) run.since = now;
    run.hasLooked = false;
    // The person’s own date is looked at once more; who is gone, or passes over the node, waits for nothing.
    const isDue =
      (target.type === 'wait_until' && target.field !== undefined) ||
      runs.person(run).status === 'deleted' ||
      run.over.has(target.id);
    const wake = isDue ? now : runs.wakeOf(run);
    run.isAtWork = !isLater(wake, now);
    // Who is late stays late (D85).
    run.wake = run.isAtWork ? Math.min(now, run.wake ?? now) : wake;
  }
}
