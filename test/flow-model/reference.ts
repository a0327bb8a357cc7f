/**
 * A reference interpreter of flows with a virtual clock: what must happen to each person, person by person and step by step, without a database
 * and without the code of the product. It is as short as it can be; the rules stand in rules.ts.
 */
import type { FlowData, Happening, HistoryData, NodeData, Payload, Step } from './flow-data.ts';
import { RULES, untilEnd, waitEnd, type LastEntry, type Rules } from './rules.ts';

interface Person {
  fields: Record<string, string>;
  tags: readonly string[];
  status: string;
}

interface Run {
  readonly person: number;
  readonly version: number;
  readonly key: string;
  readonly enteredAt: number;
  readonly payload: Payload;
  readonly passes: Map<string, number>;
  node: string;
  since: number;
  /** When something is to be done here. */
  wake: number;
  hasUnsubscribed: boolean;
}

/** Counts of a node (D90). */
export interface NodeCounts {
  entered: number;
  waiting: number;
  passed: number;
  left: number;
}

/** What the product has drawn next for this run at this split. */
export type Draws = (step: Pick<Step, 'person' | 'run' | 'node'>) => string;

export interface Waiting {
  readonly person: number;
  readonly key: string;
  readonly enteredAt: Date | number;
  readonly node: string;
  readonly wake: Date | number;
}

export function waitLines(waiting: readonly Waiting[]): readonly string[] {
  return waiting
    .map(({ person, key, node, wake }) => `${person} ${key} ${node} until ${new Date(wake).toISOString()}`)
    .toSorted();
}

export interface Expected {
  readonly steps: readonly Step[];
  /** Of each `execute`: undefined is an entry. */
  readonly refusals: readonly (string | undefined)[];
  /** After each work: who waits where until when. */
  readonly waits: readonly (readonly string[])[];
  readonly people: readonly Person[];
  /** By version and node. */
  readonly counts: ReadonlyMap<string, NodeCounts>;
}

export function expectedOf(
  history: HistoryData,
  { listZone, draws, rules = RULES }: { listZone: string; draws: Draws; rules?: Rules },
): Expected {
  const reference = new Reference(history, { listZone, draws, rules });
  for (const happening of history.happenings) reference.happens(happening);
  return reference;
}

/** Of one person there is no other at that time with that key. */
export function nameOf({ key, enteredAt }: { readonly key: string; readonly enteredAt: number | Date }): string {
  return `${key}@${new Date(enteredAt).toISOString()}`;
}

class Reference implements Expected {
  readonly steps: Step[] = [];
  readonly refusals: (string | undefined)[] = [];
  readonly waits: (readonly string[])[] = [];
  readonly people: Person[];
  readonly counts = new Map<string, NodeCounts>();
  readonly #flows: readonly FlowData[];
  readonly #rules: Rules;
  readonly #draws: Draws;
  readonly #listZone: string;
  readonly #blocked = new Set<number>();
  readonly #entries = new Map<string, { at: number[]; run: Run | undefined }>();
  #runs: Run[] = [];
  #published = 0;
  #status = 'active';

  constructor(
    { flows, people }: HistoryData,
    { listZone, draws, rules }: { listZone: string; draws: Draws; rules: Rules },
  ) {
    this.#flows = flows;
    this.#rules = rules;
    this.#draws = draws;
    this.#listZone = listZone;
    this.people = people.map((fields) => ({ fields: { ...fields }, tags: [], status: 'subscribed' }));
  }

  happens(happening: Happening): void {
    const { at } = happening;
    if ('person' in happening && happening.do !== 'execute' && this.#person(happening).status === 'deleted') return;
    switch (happening.do) {
      case 'execute':
        this.refusals.push(this.#execute(happening, at));
        return;
      case 'set':
        this.#person(happening).fields[happening.field] = happening.value;
        return;
      case 'tag':
        this.#person(happening).tags = this.#rules.withTag(this.#person(happening).tags, happening.tag);
        return;
      case 'unsubscribe':
        this.#person(happening).status = 'unsubscribed';
        return;
      case 'delete':
        this.#person(happening).status = 'deleted';
        return;
      case 'publish':
        this.#published += 1;
        return;
      case 'pause':
      case 'activate':
        if (happening.do === 'activate' && this.#status === 'inactive') this.#blocked.clear();
        this.#status = happening.do === 'pause' ? 'inactive' : 'active';
        return;
      case 'work':
        this.#work(at);
        if (happening.killAfter === undefined) this.waits.push(waitLines(this.#runs));
    }
  }

  /** Moves everybody who is due, until nobody is. */
  #work(now: number): void {
    if (!this.#rules.isMoving(this.#status)) return;
    for (;;) {
      const due = this.#runs.find(({ wake }) => this.#rules.isDue(wake, now));
      if (!due) return;
      this.#advance(due, now);
    }
  }

  #execute({ person: no, payload }: { person: number; payload: Payload }, now: number): string | undefined {
    const rules = this.#rules;
    const flow = this.#flows[this.#published];
    const person = this.people[no];
    if (!flow || !person || person.status === 'deleted') return 'SUBSCRIBER_NOT_FOUND';
    const key = rules.keyOf(flow.entry, payload);
    if (flow.entry.mode === 'per_key' && key === '') return 'no_key';
    if (person.status !== 'subscribed') return 'not_subscribed';
    const all = [...this.#entries].filter(([name]) => name.startsWith(`${no} `)).flatMap(([, { at }]) => at);
    if (flow.entry.mode !== 'once' && (this.#blocked.has(no) || rules.isLoop(all, now))) {
      this.#blocked.add(no);
      return 'too_often';
    }
    const entry = this.#entries.get(`${no} ${key}`) ?? { at: [], run: undefined };
    const lastAt = entry.at.at(-1);
    const last: LastEntry | undefined =
      lastAt === undefined ? undefined : { at: lastAt, hasEnded: entry.run === undefined };
    if (!rules.mayEnter(flow.entry, last, now)) return rules.refusal(flow.entry);
    const run: Run = {
      person: no,
      version: this.#published,
      key,
      payload,
      enteredAt: now,
      passes: new Map(),
      node: '',
      since: now,
      wake: now,
      hasUnsubscribed: false,
    };
    this.#entries.set(`${no} ${key}`, { at: [...entry.at, now], run });
    this.#runs.push(run);
    this.#arrive(run, this.#next(run, 'start', 'next') ?? '', now);
    this.#step(run, now, { what: 'entered', reason: 'execute' });
    return undefined;
  }

  #advance(run: Run, now: number): void {
    const rules = this.#rules;
    const person = this.#person(run);
    const gone = rules.leavesBy(person, run.hasUnsubscribed);
    if (gone !== undefined) return this.#leave(run, now, gone);
    const node = this.#node(run);
    const port = this.#portOf(run, node, now);
    if (port === undefined) return;
    if (port === null) return this.#pass(run, now, { port: null, reason: 'end' });
    this.#pass(run, now, { port, reason: port === 'late' || port === 'no_date' ? port : null });
  }

  /** Does the node's work. Undefined: the person stays for longer. Null: the flow ends. */
  #portOf(run: Run, node: NodeData, now: number): string | null | undefined {
    const rules = this.#rules;
    const person = this.#person(run);
    switch (node.type) {
      case 'wait':
        return 'next';
      case 'wait_until': {
        const end = this.#untilEnd(run, node);
        if (typeof end === 'string') return end;
        if (end > now) {
          run.wake = end;
          return undefined;
        }
        return node.weekdays === undefined && rules.isLate(end, now) ? 'late' : 'next';
      }
      case 'condition':
        return rules.isTrue(node.if, person, run.payload) ? 'yes' : 'no';
      case 'split': {
        const port = this.#draws({ person: run.person, run: nameOf(run), node: run.node });
        return rules.isVariant(node, port) ? port : `no variant: ${port}`;
      }
      case 'add_tag':
        person.tags = rules.withTag(person.tags, node.tag);
        return 'next';
      case 'remove_tag':
        person.tags = rules.withoutTag(person.tags, node.tag);
        return 'next';
      case 'set_field':
        person.fields[node.field] = node.value;
        return 'next';
      case 'unsubscribe':
        person.status = 'unsubscribed';
        run.hasUnsubscribed = true;
        return 'next';
      case 'end':
        return null;
    }
  }

  /** Through a port to the next node, or out of the flow where no edge leads on. */
  #pass(run: Run, now: number, { port, reason }: { port: string | null; reason: string | null }): void {
    const next = port === null ? undefined : this.#next(run, run.node, port);
    const times = next === undefined ? 0 : (run.passes.get(next) ?? 0) + 1;
    if (next !== undefined && !this.#rules.mayPass(times, this.#flow(run).passesMax))
      return this.#leave(run, now, 'too_many_passes');
    this.#step(run, now, { what: 'passed', port, reason });
    this.#count(run).waiting -= 1;
    this.#count(run).passed += 1;
    if (next === undefined) this.#end(run);
    else this.#arrive(run, next, now);
  }

  #arrive(run: Run, node: string, now: number): void {
    run.node = node;
    run.since = now;
    run.passes.set(node, (run.passes.get(node) ?? 0) + 1);
    this.#count(run).entered += 1;
    this.#count(run).waiting += 1;
    const at = this.#node(run);
    const from = { since: now, zone: this.#zone(run) };
    if (at.type === 'wait') run.wake = waitEnd(this.#rules, at, from, this.#flow(run).holidays);
    else run.wake = at.type === 'wait_until' ? Number(this.#untilEnd(run, at)) || now : now;
  }

  #untilEnd(run: Run, node: Extract<NodeData, { type: 'wait_until' }>) {
    const value = node.field === undefined ? undefined : this.#person(run).fields[node.field];
    return untilEnd(this.#rules, node, { since: run.since, zone: this.#zone(run), value });
  }

  #leave(run: Run, now: number, reason: string): void {
    this.#step(run, now, { what: 'left', reason });
    this.#count(run).waiting -= 1;
    this.#count(run).left += 1;
    this.#end(run);
  }

  #end(run: Run): void {
    this.#runs = this.#runs.filter((one) => one !== run);
    const entry = this.#entries.get(`${run.person} ${run.key}`);
    if (entry?.run === run) entry.run = undefined;
  }

  #step(
    run: Run,
    at: number,
    { what, port = null, reason = null }: { what: string; port?: string | null; reason?: string | null },
  ): void {
    this.steps.push({ at, person: run.person, run: nameOf(run), node: run.node, what, port, reason });
  }

  #count(run: Run): NodeCounts {
    const name = `${run.version} ${run.node}`;
    const known = this.counts.get(name) ?? { entered: 0, waiting: 0, passed: 0, left: 0 };
    this.counts.set(name, known);
    return known;
  }

  #person({ person }: { person: number }): Person {
    const found = this.people[person];
    if (!found) throw new Error('No such person.');
    return found;
  }

  #flow({ version }: Run): FlowData {
    const found = this.#flows[this.#rules.versionOf(version, this.#published)];
    if (!found) throw new Error('No such version.');
    return found;
  }

  #node(run: Run): NodeData {
    const found = this.#flow(run).nodes.find(({ id }) => id === run.node);
    if (!found) throw new Error(`No node ${run.node}.`);
    return found;
  }

  #next(run: Run, from: string, port: string): string | undefined {
    return this.#flow(run).edges.find((edge) => edge.from === from && edge.port === port)?.to;
  }

  #zone(run: Run): string {
    return this.#rules.zoneOf(this.#person(run), this.#listZone);
  }
}
