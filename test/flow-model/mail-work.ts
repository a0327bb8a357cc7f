/** Which mails of the reference go, which wait, and which are not sent (D80 to D82). No code of the product is used. */
import type { Acts } from './acts.ts';
import type { Happening, HistoryData, MailNode } from './flow-data.ts';
import type { Rules } from './rules.ts';
import { nameOf, type Draws, type Outcome, type Run, type Runs } from './runs.ts';

interface Means {
  readonly quiet: HistoryData['quiet'];
  readonly cap: HistoryData['cap'];
  readonly customerCap: HistoryData['customerCap'];
  readonly runs: Runs;
  readonly acts: Acts;
  readonly draws: Draws;
  readonly rules: Rules;
}

export class MailWork {
  readonly #means: Means;
  /** When messages of others were handed over to each person. */
  readonly #others = new Map<number, { readonly at: number; readonly isElsewhere: boolean }[]>();

  constructor(means: Means) {
    this.#means = means;
  }

  /** A campaign’s message to the person was handed over. */
  addOther({ person, at, isElsewhere = false }: Extract<Happening, { do: 'campaign' }>): void {
    this.#others.set(person, [...(this.#others.get(person) ?? []), { at, isElsewhere }]);
  }

  /** `looks`: how often all waits were looked at by now. */
  send(run: Run, node: MailNode, { now, looks }: { readonly now: number; readonly looks: number }): Outcome {
    const { runs, acts, rules } = this.#means;
    const reason = rules.noMail(runs.person(run), node);
    if (reason !== undefined) return { port: 'next', reason };
    const { person } = run;
    if (rules.isTooSoon(acts.lastOf(person, node.templateUid), now, node))
      return { port: 'next', reason: 'sent_recently' };
    const held = rules.isHeldBack(node)
      ? (this.#quietTime(run, { now, looks }) ?? this.#cappedTime(run, now))
      : undefined;
    if (held) return this.#hold(run, now, held);
    const pass = rules.passOf(run.passes.get(node.id) ?? 1);
    acts.sent({ person, run: nameOf(run), node: node.id, pass, template: node.templateUid, at: now });
    return { port: 'next', reason: null };
  }

  #hold(
    run: Run,
    now: number,
    { until, reason }: { readonly until: number | undefined; readonly reason: string },
  ): Outcome {
    if (until === undefined) return { port: 'next', reason };
    run.wake = until;
    this.#means.runs.step(run, now, { what: 'stays', reason });
    return null;
  }

  #quietTime(run: Run, { now, looks }: { readonly now: number; readonly looks: number }) {
    const { quiet, runs, draws, rules } = this.#means;
    const end = quiet && rules.quietEnd(quiet, rules.quietZone(quiet, runs.zone(run)), now);
    if (end === undefined) return undefined;
    const drawn = draws.wake(run, looks) ?? end;
    return { until: rules.isSpread(drawn, end) ? drawn : end, reason: 'quiet_hours' };
  }

  /** `until` undefined: it would wait for too long. */
  #cappedTime(run: Run, now: number) {
    const { cap, customerCap, runs, rules } = this.#means;
    const { status } = runs.person(run);
    const others = this.#others.get(run.person) ?? [];
    const reached = [cap, customerCap].flatMap((one, no) => {
      const counted = others.filter(({ isElsewhere }) => rules.countsFor(no === 1, isElsewhere)).map(({ at }) => at);
      const until = one && rules.capEnd(one, { others: counted, status }, now);
      return one && until !== undefined ? [{ until, holdDays: one.holdDays }] : [];
    });
    const [first, ...more] = reached;
    if (!first) return undefined;
    const { until, ...holding } = more.reduce(rules.capsTogether, first);
    return {
      until: rules.mayWaitForCap(holding, { since: run.since, until }) ? until : undefined,
      reason: 'frequency_cap',
    };
  }
}
