/** Who enters the flow of the reference and who is refused (D70, D83), and the sending of those who have finished (D84). No code of the product is used. */
import type { FlowData, Happening, Payload } from './flow-data.ts';
import type { Ended } from './move-rules.ts';
import type { People } from './people.ts';
import type { LastEntry, Rules } from './rules.ts';
import type { Run, Runs } from './runs.ts';

export interface Means {
  readonly flows: readonly FlowData[];
  readonly people: People;
  readonly runs: Runs;
  readonly rules: Rules;
}

interface Beginning extends Pick<Run, 'person' | 'key' | 'version' | 'payload' | 'depth'> {
  readonly node: string;
  readonly reason: string;
  readonly worked?: ReadonlySet<string>;
}

interface Entrant {
  readonly payload: Payload;
  readonly reason: string;
  readonly depth?: number;
  readonly version?: number;
}

export class Entries {
  readonly #means: Means;
  readonly #blocked = new Set<number>();

  constructor(means: Means) {
    this.#means = means;
  }

  execute({ at, person, payload, isLate = false }: Extract<Happening, { do: 'execute' }>): string | undefined {
    const version = Math.max(0, this.#means.runs.published - (isLate ? 1 : 0));
    return this.enter(person, { payload, reason: 'execute', version }, at);
  }

  /** Everybody who may, of those who are on the list. */
  enterExisting(now: number): void {
    for (const [no, person] of this.#means.people.all.entries())
      if (person.status === 'subscribed') this.enter(no, { payload: {}, reason: 'existing' }, now);
  }

  /** Why the person may not; undefined: they have entered. */
  enter(no: number, { payload, reason, depth = 0, version }: Entrant, now: number): string | undefined {
    const { flows, people, runs, rules } = this.#means;
    const to = version ?? runs.published;
    const flow = flows[to];
    const person = people.get(no);
    if (!flow || person.status === 'deleted') return 'SUBSCRIBER_NOT_FOUND';
    if (rules.isTooDeep(depth)) return 'too_deep';
    const key = rules.keyOf(flow.entry, payload);
    if (flow.entry.mode === 'per_key' && key === '') return 'no_key';
    if (person.status !== 'subscribed') return 'not_subscribed';
    if (person.isSuppressed) return 'suppressed';
    const all = this.#entriesOf(no).flatMap(({ at }) => at);
    if (flow.entry.mode !== 'once' && (this.#blocked.has(no) || rules.isLoop(all, now))) {
      this.#blocked.add(no);
      return 'too_often';
    }
    const entry = runs.entries.get(`${no} ${key}`);
    const lastAt = entry?.at.at(-1);
    const last: LastEntry | undefined =
      lastAt === undefined ? undefined : { at: lastAt, hasEnded: entry?.run === undefined };
    if (!rules.mayEnter(flow.entry, last, now)) return rules.refusal(flow.entry);
    this.#begin({ person: no, key, version: to, payload, depth, node: firstOf(flow), reason }, now);
    return undefined;
  }

  /** There may be another version. */
  afterChange(now: number): void {
    const { flows, runs, rules } = this.#means;
    const flow = flows[runs.published];
    if (flow && rules.changeLetsIn) this.send(firstOf(flow), now, true);
  }

  /** Everybody may enter again. */
  unblock(): void {
    this.#blocked.clear();
  }

  /** Sends who has finished an earlier version to the node, each once; returns how many they are. `isActive`: else nobody enters. */
  send(node: string, now: number, isActive: boolean): number {
    const { flows, people, runs, rules } = this.#means;
    const version = runs.published;
    const isNode = flows[version]?.nodes.some(({ id }) => id === node) === true;
    const found = people.all.flatMap((person, no) => {
      const last = this.#lastFinished(no);
      const isInside = runs.all.some((run) => run.person === no);
      return last && rules.maySend(person, isInside) && !this.#blocked.has(no) ? [{ person: no, ...last }] : [];
    });
    if (!isNode || !isActive) return found.length;
    for (const { person, key, ended } of found) {
      const worked = rules.workedBefore(ended);
      this.#begin({ person, key, version, payload: {}, depth: 0, node, reason: 'finished', worked }, now);
    }
    return found.length;
  }

  #lastFinished(no: number): { readonly key: string; readonly ended: Ended } | undefined {
    const { runs, rules } = this.#means;
    const own = this.#entriesOf(no);
    if (own.some(({ ended }) => ended && rules.isOfLive(ended, runs.published))) return undefined;
    return own
      .flatMap(({ key, ended }) => (ended && rules.hasFinished(ended) ? [{ key, ended }] : []))
      .toSorted((one, other) => one.ended.at - other.ended.at || one.ended.run - other.ended.run)
      .at(-1);
  }

  #entriesOf(no: number) {
    const begin = `${no} `;
    const own = [...this.#means.runs.entries].filter(([name]) => name.startsWith(begin));
    return own.map(([name, entry]) => ({ ...entry, key: name.slice(begin.length) }));
  }

  #begin({ node, reason, worked, ...who }: Beginning, now: number): void {
    const { runs } = this.#means;
    const run: Run = {
      ...{
        ...who,
        no: runs.begun,
        enteredAt: now,
        passes: new Map<string, number>(),
        worked: new Set(worked),
        over: new Set(),
      },
      ...{ node: '', since: now, wake: now, hasUnsubscribed: false, isParked: false, hasLooked: false },
      ...{ isAtWork: false, asked: undefined },
    };
    const name = `${run.person} ${run.key}`;
    const { at = [], ended } = runs.entries.get(name) ?? {};
    runs.entries.set(name, { at: [...at, now], run, ended });
    runs.begun += 1;
    runs.all.push(run);
    runs.passOver(run);
    runs.arrive(run, node, now);
    const first = runs.node(run);
    // The product looks at a person's own date once more, after the entry.
    if (first.type === 'wait_until' && first.field !== undefined) run.wake = now;
    runs.step(run, now, { what: 'entered', reason });
  }
}

function firstOf({ edges }: FlowData): string {
  return edges.find(({ from }) => from === 'start')?.to ?? '';
}
