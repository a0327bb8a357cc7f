/** Where the runs of the reference stand, and what their histories and counts say. No code of the product is used. */
import type { FlowData, NodeData, Payload, Step, Firing } from './flow-data.ts';
import { follows } from './flow-shape.ts';
import type { Ended } from './move-rules.ts';
import type { People, Person } from './people.ts';
import { eventWaitEnd, untilEnd, waitEnd, type Rules } from './rules.ts';

export interface Run {
  /** So many began before it. */
  readonly no: number;
  readonly person: number;
  readonly key: string;
  readonly enteredAt: number;
  /** So many flows started one another before. */
  readonly depth: number;
  payload: Payload;
  /** Of nodes on a way round. */
  readonly passes: Map<string, number>;
  /** What was done for the person in any version: type and id of the node. */
  readonly worked: Set<string>;
  /** Nodes whose work was done in an earlier version, and is passed over once. */
  over: Set<string>;
  version: number;
  node: string;
  since: number;
  /** When something is to be done here; null: never by itself. */
  wake: number | null;
  hasUnsubscribed: boolean;
  /** Its node failed for good. */
  isParked: boolean;
  /** At a wait for an event: it has looked back, and waits. */
  hasLooked: boolean;
  /** It does not wait at its node: it was parked, was moved there when the wait was over, or passes over it. */
  isAtWork: boolean;
  /** Instead of the node's work (D85, D87). */
  asked: Asked | undefined;
}

/** To pass over the node, over mails until it waits again, or to wait anew. */
export type Asked = 'skip' | 'skip_mails' | 'wait_anew';

/** What comes of a node’s work; null: it stays for longer. */
export type Outcome =
  | { readonly port: string | null; readonly reason: string | null }
  | { readonly park: string }
  | { readonly leave: string }
  | null;

/** Counts of a node (D90). */
export interface NodeCounts {
  entered: number;
  waiting: number;
  passed: number;
  left: number;
  parked: number;
}

/** What the product has drawn: the next variant for a run at a split (undefined: none is written down), and until when a mail waits after quiet hours, as the waits number `no` show it. */
export interface Draws {
  variant(step: Pick<Step, 'person' | 'run' | 'node'>): string | undefined;
  wake(place: Omit<Waiting, 'wake'>, no: number): number | undefined;
}

export interface Waiting {
  readonly person: number;
  readonly key: string;
  readonly enteredAt: Date | number;
  readonly node: string;
  readonly wake: Date | number | null;
}

export function waitLines(waiting: readonly Waiting[]): readonly string[] {
  return waiting
    .map(({ wake, ...place }) => `${placeOf(place)} until ${wake === null ? 'ever' : new Date(wake).toISOString()}`)
    .toSorted();
}

/** Whether a wait goes on; null: without end. */
export function isLater(wake: number | null, now: number): boolean {
  return wake === null || wake > now;
}

/** Of one person there may be runs at nodes of the same name: on other versions, too. */
export function placeOf({ person, node, ...run }: Omit<Waiting, 'wake'>): string {
  return `${person} ${nameOf(run)} ${node}`;
}

/** Of one person there is no other at that time with that key. */
export function nameOf({ key, enteredAt }: { readonly key: string; readonly enteredAt: number | Date }): string {
  return `${key}@${new Date(enteredAt).toISOString()}`;
}

interface Flows {
  readonly flows: readonly FlowData[];
  readonly people: People;
  readonly listZone: string;
  readonly rules: Rules;
}

export class Runs {
  readonly steps: Step[] = [];
  readonly fired: Firing[] = [];
  readonly counts = new Map<string, NodeCounts>();
  /** By person and key. */
  readonly entries = new Map<string, { at: number[]; run: Run | undefined; ended: Ended | undefined }>();
  all: Run[] = [];
  begun = 0;
  /** The version that people enter. */
  published = 0;
  readonly #flows: readonly FlowData[];
  readonly #people: People;
  readonly #listZone: string;
  readonly #rules: Rules;

  constructor({ flows, people, listZone, rules }: Flows) {
    this.#flows = flows;
    this.#people = people;
    this.#listZone = listZone;
    this.#rules = rules;
  }

  /** Through a port to the next node, or out of the flow where no edge leads on. */
  pass(run: Run, now: number, { port, reason }: { port: string | null; reason: string | null }): void {
    if (port !== null && this.isBarred(run, port)) return this.leave(run, now, 'too_many_passes');
    const next = port === null ? undefined : this.next(run, run.node, port);
    this.step(run, now, { what: 'passed', port, reason });
    this.count(run).waiting -= 1;
    this.count(run).passed += 1;
    const { id, type } = this.node(run);
    if (this.#rules.isWork(type, port)) run.worked.add(`${type} ${id}`);
    if (next === undefined) this.#end(run, now, true);
    else this.arrive(run, next, now);
  }

  /** Whether the run has come to the node behind the port too often already. */
  isBarred(run: Run, port: string): boolean {
    const next = this.next(run, run.node, port);
    if (next === undefined || !this.isRound(run.version, next)) return false;
    return !this.#rules.mayPass((run.passes.get(next) ?? 0) + 1, this.flow(run).passesMax);
  }

  arrive(run: Run, node: string, now: number): void {
    run.node = node;
    run.since = now;
    run.hasLooked = false;
    run.isAtWork = run.over.has(node);
    if (this.isRound(run.version, node)) run.passes.set(node, (run.passes.get(node) ?? 0) + 1);
    this.count(run).entered += 1;
    this.count(run).waiting += 1;
    run.wake = run.isAtWork ? now : this.wakeOf(run);
    if (isLater(run.wake, now)) run.asked = undefined;
    if (this.#rules.firesForCall(this.node(run).type, run.isAtWork)) this.fire(run);
  }

  /** For the person at the node. */
  fire({ person, node }: Run): void {
    this.fired.push({ person, node });
  }

  /** When something is to be done for who has come to the node; work is done at once. Null: never. */
  wakeOf(run: Run): number | null {
    const from = { since: run.since, zone: this.zone(run) };
    const at = this.node(run);
    if (at.type === 'wait') return waitEnd(this.#rules, at, from, this.flow(run).holidays);
    if (at.type === 'api_call') return at.for ? eventWaitEnd(this.#rules, at.for, from) : null;
    return at.type === 'wait_until' ? Number(this.untilEnd(run, at)) || from.since : from.since;
  }

  /** Whether a person may come to the node again. */
  isRound(version: number, node: string): boolean {
    return follows(this.#flows[version]?.edges ?? [], node, node);
  }

  /** Finds what is passed over from now on: what was done for who comes from another version, or has finished one. */
  passOver(run: Run, before?: Pick<Run, 'version' | 'node'> & Pick<NodeData, 'type'>): void {
    const isOver = ({ id, type }: NodeData) =>
      this.#rules.isPassedOver({
        isDone: run.worked.has(`${type} ${id}`),
        isToCome: run.over.has(id),
        isThere: id === before?.node && id === run.node && before.type === type,
        goesRound:
          before !== undefined &&
          this.#isIn(before.version, { id, type }) &&
          [before, run].every(({ version }) => this.isRound(version, id)),
      });
    run.over = new Set(
      this.flow(run)
        .nodes.filter(isOver)
        .map(({ id }) => id),
    );
  }

  /** With another type it is another node. */
  #isIn(version: number, { id, type }: Pick<NodeData, 'id' | 'type'>): boolean {
    return this.#flows[version]?.nodes.some((node) => node.id === id && node.type === type) === true;
  }

  untilEnd(run: Run, node: Extract<NodeData, { type: 'wait_until' }>) {
    const value = node.field === undefined ? undefined : this.person(run).fields[node.field];
    return untilEnd(this.#rules, node, { since: run.since, zone: this.zone(run), value });
  }

  park(run: Run, now: number, reason: string): void {
    this.step(run, now, { what: 'parked', reason });
    this.count(run).waiting -= 1;
    this.count(run).parked += 1;
    run.wake = null;
    run.isParked = true;
  }

  unpark(run: Run, now: number, asked: Asked | undefined): void {
    Object.assign(run, { isParked: false, isAtWork: true, wake: now, asked });
    this.count(run).parked -= 1;
    this.count(run).waiting += 1;
  }

  leave(run: Run, now: number, reason: string): void {
    this.step(run, now, { what: 'left', reason });
    this.count(run)[run.isParked ? 'parked' : 'waiting'] -= 1;
    this.count(run).left += 1;
    this.#end(run, now, false);
  }

  #end(run: Run, at: number, hasFinished: boolean): void {
    const { version, worked, no } = run;
    this.all = this.all.filter((one) => one !== run);
    const entry = this.entries.get(`${run.person} ${run.key}`);
    if (entry?.run === run)
      Object.assign(entry, { run: undefined, ended: { at, run: no, version, hasFinished, worked } });
  }

  step(
    run: Run,
    at: number,
    { what, port = null, reason = null }: { what: string; port?: string | null; reason?: string | null },
  ): void {
    this.steps.push({ at, person: run.person, run: nameOf(run), node: run.node, what, port, reason });
  }

  count(run: Run): NodeCounts {
    const name = `${run.version} ${run.node}`;
    const known = this.counts.get(name) ?? { entered: 0, waiting: 0, passed: 0, left: 0, parked: 0 };
    this.counts.set(name, known);
    return known;
  }

  person({ person }: Run): Person {
    return this.#people.get(person);
  }

  flow({ version }: Run): FlowData {
    const found = this.#flows[this.#rules.versionOf(version, this.published)];
    if (!found) throw new Error('No such version.');
    return found;
  }

  node(run: Run): NodeData {
    const found = this.flow(run).nodes.find(({ id }) => id === run.node);
    if (!found) throw new Error(`No node ${run.node}.`);
    return found;
  }

  next(run: Run, from: string, port: string): string | undefined {
    return this.flow(run).edges.find((edge) => edge.from === from && edge.port === port)?.to;
  }

  zone(run: Run): string {
    return this.#rules.zoneOf(this.person(run), this.#listZone);
  }
}
