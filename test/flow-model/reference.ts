/**
 * A reference interpreter of flows with a virtual clock: what must happen to each person, person by person and step by step, without a database
 * and without the code of the product. It is as short as it can be; the rules stand in rules.ts.
 */
import { Acts, type Act, type Asking } from './acts.ts';
import { Entries } from './entries.ts';
import type {
  EventWaitNode,
  FlowData,
  Happening,
  HistoryData,
  Mail,
  MailNode,
  NodeData,
  PersonThere,
  QuietHours,
  Step,
  WayOut,
} from './flow-data.ts';
import { Moves } from './moves.ts';
import { People, type Changes, type Person } from './people.ts';
import { eventWaitEnd, RULES, SETTLED_MS, type Rules } from './rules.ts';
import { Triggers, type DayCounts } from './triggers.ts';
import { nameOf, Runs, waitLines, type Draws, type NodeCounts, type Outcome, type Run } from './runs.ts';

export interface Expected {
  readonly steps: readonly Step[];
  /** Of each `execute`: undefined is an entry. */
  readonly refusals: readonly (string | undefined)[];
  /** Of each publication with moves: the nodes without a target, or why nothing was published. */
  readonly publications: readonly string[];
  /** Of each sending: how many had finished. */
  readonly sent: readonly number[];
  /** After each work: who waits where until when. */
  readonly waits: readonly (readonly string[])[];
  readonly people: { readonly all: readonly Person[]; readonly there: readonly (PersonThere | undefined)[] };
  readonly mails: readonly Mail[];
  /** What came of dates and timetables, by days. */
  readonly days: ReadonlyMap<string, DayCounts>;
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

class Reference implements Expected {
  readonly refusals: (string | undefined)[] = [];
  readonly sent: number[] = [];
  readonly waits: (readonly string[])[] = [];
  readonly people: People;
  readonly #acts: Acts;
  readonly #flows: readonly FlowData[];
  readonly #quiet: QuietHours | undefined;
  readonly #rules: Rules;
  readonly #draws: Draws;
  readonly #runs: Runs;
  readonly #triggers: Triggers;
  readonly #entries: Entries;
  readonly #moves: Moves;
  #status = 'active';
  #begunAt: number | undefined;

  constructor(
    { flows, people, there = [], quiet }: HistoryData,
    { listZone, draws, rules }: { listZone: string; draws: Draws; rules: Rules },
  ) {
    this.#flows = flows;
    this.#quiet = quiet;
    this.#rules = rules;
    this.#draws = draws;
    this.#acts = new Acts(rules);
    this.people = new People(people, there, rules);
    this.#runs = new Runs({ flows, people: this.people, listZone, rules });
    const means = { flows, people: this.people, runs: this.#runs, rules };
    this.#entries = new Entries(means);
    this.#moves = new Moves(means);
    const enter = (person: number, reason: string, now: number) =>
      this.#entries.enter(person, { payload: {}, reason }, now);
    this.#triggers = new Triggers({ people: this.people, rules, listZone, enter });
  }

  get publications(): readonly string[] {
    return this.#moves.answers;
  }

  get steps(): readonly Step[] {
    return this.#runs.steps;
  }

  get counts(): ReadonlyMap<string, NodeCounts> {
    return this.#runs.counts;
  }

  get days(): ReadonlyMap<string, DayCounts> {
    return this.#triggers.days;
  }

  get mails(): readonly Mail[] {
    return this.#acts.mails;
  }

  happens(happening: Happening): void {
    const { at } = happening;
    if (happening.do === 'work') this.#work(at);
    // The next process goes on at the same time.
    if ('killAfter' in happening && happening.killAfter !== undefined) return;
    if (this.#begunAt === undefined) this.#begin(at, true);
    const act = this.#act(happening);
    const changed = new Map([...this.people.changes].map(([no, { fields }]) => [no, fields]));
    if (this.#rules.isMoving(this.#status)) this.#triggers.run(at, changed);
    this.#follow(at, act);
    if (happening.do === 'work') this.waits.push(waitLines(this.#runs.all));
  }

  /** What happens besides work; a person's act if it is one. */
  #act(happening: Happening): Act | undefined {
    const { people } = this;
    const { at } = happening;
    if ('person' in happening && happening.do !== 'execute' && people.get(happening.person).status === 'deleted')
      return;
    switch (happening.do) {
      case 'execute':
        this.refusals.push(this.#entries.execute(happening));
        return;
      case 'set':
        people.setField(happening.person, happening.field, happening.value);
        return;
      case 'tag':
        people.tag(happening.person, happening.tag);
        return;
      case 'unsubscribe':
        people.leave(happening.person, 'unsubscribed');
        return;
      case 'delete':
        people.leave(happening.person, 'deleted');
        return;
      case 'suppress':
        people.suppress(happening.person);
        return;
      case 'publish':
        if (this.#moves.publish(happening.moves) && this.#status === 'active') this.#begin(at, false);
        this.#entries.afterChange(at);
        return;
      case 'move':
        this.#moves.move(at, happening.isLast === true);
        return;
      case 'send':
        this.sent.push(this.#entries.send(happening.node, at, this.#rules.isMoving(this.#status)));
        return;
      case 'pause':
        this.#status = 'inactive';
        return;
      case 'activate':
        this.#goOn(at);
        return;
      case 'event': {
        const { person, name, payload } = happening;
        return this.#acts.add({ person, at, type: 'event', name, payload });
      }
      case 'open':
      case 'click': {
        const mail = this.#acts.lastMail(happening.person, happening.node);
        const type = happening.do === 'open' ? 'opened' : 'clicked';
        const { person, isMachine } = happening;
        return mail && this.#acts.add({ person, at, type, mail, isMachine });
      }
      default:
        return;
    }
  }

  /** What happened meanwhile lets nobody in, and ends no wait; but who has gone leaves, and dates are looked at. */
  #goOn(now: number): void {
    const changes = this.people.takeChanges();
    if (this.#status === 'active') return;
    this.#status = 'active';
    this.#begin(now, true);
    this.#entries.unblock();
    if (!this.#rules.looksAgain) return;
    for (const run of [...this.#runs.all]) {
      const gone = this.#rules.leavesBy(this.#runs.person(run), run.hasUnsubscribed);
      if (gone !== undefined) this.#runs.leave(run, now, gone);
      else if (changes.has(run.person)) this.#moveWake(run, now, changes.get(run.person));
    }
  }

  #begin(now: number, isAnew: boolean): void {
    this.#begunAt = now;
    const flow = this.#flows[this.#runs.published];
    if (flow) this.#triggers.begin(flow, now, isAnew);
  }

  /** Moves everybody who is due, until nobody is. */
  #work(now: number): void {
    if (!this.#rules.isMoving(this.#status)) return;
    for (;;) {
      const due = this.#runs.all.find(({ wake }) => wake !== null && this.#rules.isDue(wake, now));
      if (!due) return;
      this.#advance(due, now);
    }
  }

  /** Reads what has happened to people. */
  #follow(now: number, act?: Act): void {
    if (!this.#rules.isMoving(this.#status)) return;
    const changes = this.people.takeChanges();
    for (const run of [...this.#runs.all])
      if (changes.has(run.person) || act?.person === run.person)
        this.#read(run, now, { changes: changes.get(run.person), act });
  }

  #read(run: Run, now: number, { changes, act }: { changes: Changes | undefined; act: Act | undefined }): void {
    const rules = this.#rules;
    const gone = changes?.hasEnded === true ? rules.leavesBy(this.#runs.person(run), run.hasUnsubscribed) : undefined;
    if (gone !== undefined && (!run.isParked || rules.leavesParked(gone) !== undefined))
      return this.#runs.leave(run, now, gone);
    if (run.isParked) return;
    const asking = this.#asking(run);
    const way = this.#wayOut(run, ({ event, person }) => {
      if (person) return changes !== undefined && rules.isPerson(person, this.#runs.person(run));
      return event !== undefined && act !== undefined && act.at >= run.enteredAt && this.#acts.isIt(event, act, asking);
    });
    if (way !== undefined) return this.#runs.leave(run, now, way);
    const node = this.#runs.node(run);
    if (act && node.type === 'wait_for_event' && run.hasLooked && this.#acts.isIt(node.event, act, asking)) {
      const within = { from: rules.countsFrom(node.countsFrom, run), until: run.wake ?? 0 };
      if (rules.isWithin(act.at, within)) return this.#runs.pass(run, now, { port: 'next', reason: node.event.type });
    }
    if (changes) this.#moveWake(run, now, changes);
  }

  #moveWake(run: Run, now: number, changes: Changes | undefined): void {
    const node = this.#runs.node(run);
    const isWaiting = run.wake !== null && run.wake > now;
    if (changes && isWaiting && node.type === 'wait_until' && this.#rules.movesWake(node, changes.fields))
      run.wake = now;
  }

  /** The first goal or exit that is true, as the history names it. */
  #wayOut(run: Run, isTrue: (way: WayOut) => boolean): string | undefined {
    const { goals = [], exits = [] } = this.#runs.flow(run);
    const found = this.#rules.waysOut(goals, exits).find(([, way]) => isTrue(way));
    return found && `${found[0]}:${found[1].id}`;
  }

  #asking(run: Run): Asking {
    const { entry } = this.#runs.flow(run);
    return {
      person: run.person,
      name: nameOf(run),
      key: run.key,
      keyOf: (payload) => this.#rules.keyOf(entry, payload),
    };
  }

  #advance(run: Run, now: number): void {
    const node = this.#runs.node(run);
    const isOver = run.over.has(node.id);
    const gone =
      this.#rules.leavesBy(this.#runs.person(run), run.hasUnsubscribed) ??
      (isOver ? undefined : this.#wayOutBeforeMail(run, node));
    if (gone !== undefined) return this.#runs.leave(run, now, gone);
    if (isOver) return this.#passOver(run, node, now);
    const outcome = this.#workOf(run, node, now);
    if (outcome === null) return;
    if ('park' in outcome) return this.#runs.park(run, now, outcome.park);
    if (outcome.port === null) return this.#runs.pass(run, now, { port: null, reason: 'end' });
    this.#runs.pass(run, now, outcome);
  }

  /** Its work was done in an earlier version. */
  #passOver(run: Run, { id }: NodeData, now: number): void {
    if (this.#rules.isOverOnce) run.over.delete(id);
    this.#runs.pass(run, now, { port: 'next', reason: 'done_before' });
  }

  #wayOutBeforeMail(run: Run, node: NodeData): string | undefined {
    if (node.type !== 'send_mail' || !this.#rules.isJudgedBeforeMail) return undefined;
    const asking = this.#asking(run);
    return this.#wayOut(run, ({ event, person }) => {
      if (person) return this.#rules.isPerson(person, this.#runs.person(run));
      return event !== undefined && this.#acts.hasDone(event, asking, { from: run.enteredAt, until: Infinity });
    });
  }

  #workOf(run: Run, node: NodeData, now: number): Outcome {
    const rules = this.#rules;
    const next = { port: 'next', reason: null };
    switch (node.type) {
      case 'wait':
        return next;
      case 'wait_until': {
        const end = this.#runs.untilEnd(run, node);
        if (typeof end === 'string') return { port: end, reason: end };
        run.wake = end;
        if (end > now) return null;
        return node.weekdays === undefined && rules.isLate(end, now) ? { port: 'late', reason: 'late' } : next;
      }
      case 'wait_for_event':
        return this.#lookBack(run, node, now);
      case 'send_mail':
        return this.#mail(run, node, now);
      case 'condition': {
        const isTrue = rules.isTrue(node.if, this.#runs.person(run), run.payload, (kind, question) =>
          this.#acts.hasActed(kind, question, { run: nameOf(run), pass: run.passes.get(question.mail) ?? 1 }),
        );
        return { port: isTrue ? 'yes' : 'no', reason: null };
      }
      case 'split': {
        const port =
          this.#draws.variant({ person: run.person, run: nameOf(run), node: run.node }) ?? this.#barred(run, node);
        return { port: rules.isVariant(node, port) ? port : `no variant: ${port}`, reason: null };
      }
      default:
        return this.#change(run, node);
    }
  }

  /** The variant of who left at the split, since they had come to its node too often: it is not written down. */
  #barred(run: Run, { variants }: Extract<NodeData, { type: 'split' }>): string {
    const ports = variants.map(({ name }) => `variant:${name}`);
    return ports.find((port) => this.#runs.isBarred(run, port)) ?? 'nothing';
  }

  /** The nodes that change the person. */
  #change(run: Run, node: NodeData): Outcome {
    const { people } = this;
    const next = { port: 'next', reason: null };
    switch (node.type) {
      case 'add_tag':
        people.tag(run.person, node.tag);
        return next;
      case 'remove_tag':
        people.untag(run.person, node.tag);
        return next;
      case 'set_field':
        people.setField(run.person, node.field, node.value);
        return next;
      case 'unsubscribe':
        people.leave(run.person, 'unsubscribed');
        run.hasUnsubscribed = true;
        return next;
      case 'copy_to_list':
      case 'move_to_list': {
        const refusal = people.copy(run.person, node);
        if (refusal === undefined) run.hasUnsubscribed ||= node.type === 'move_to_list';
        else if (this.#runs.next(run, node.id, 'error') === undefined) return { park: refusal };
        return refusal === undefined ? next : { port: 'error', reason: refusal };
      }
      default:
        return { port: null, reason: 'end' };
    }
  }

  #lookBack(run: Run, node: EventWaitNode, now: number): Outcome {
    const rules = this.#rules;
    const until = eventWaitEnd(rules, node.for, { since: run.since, zone: this.#runs.zone(run) });
    const from = rules.countsFrom(node.countsFrom, run);
    if (this.#acts.hasDone(node.event, this.#asking(run), { from, until }))
      return { port: 'next', reason: node.event.type };
    const end = node.event.type === 'event' ? until : until + SETTLED_MS;
    if (end <= now) return { port: 'timeout', reason: null };
    run.wake = end;
    run.hasLooked = true;
    return null;
  }

  #mail(run: Run, node: MailNode, now: number): Outcome {
    const rules = this.#rules;
    const reason = rules.noMail(this.#runs.person(run), node);
    if (reason !== undefined) return { port: 'next', reason };
    const { person } = run;
    if (rules.isTooSoon(this.#acts.lastOf(person, node.templateUid), now, node))
      return { port: 'next', reason: 'sent_recently' };
    const end =
      this.#quiet && rules.keepsQuiet(node) ? rules.quietEnd(this.#quiet, this.#runs.zone(run), now) : undefined;
    if (end !== undefined) {
      const drawn = this.#draws.wake(run, this.waits.length) ?? end;
      run.wake = rules.isSpread(drawn, end) ? drawn : end;
      this.#runs.step(run, now, { what: 'stays', reason: 'quiet_hours' });
      return null;
    }
    const pass = rules.passOf(run.passes.get(node.id) ?? 1);
    this.#acts.sent({ person, run: nameOf(run), node: node.id, pass, template: node.templateUid, at: now });
    return { port: 'next', reason: null };
  }
}
