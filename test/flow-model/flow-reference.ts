/** One flow of the reference: who enters, works, waits and leaves, and what of it others do. No code of the product is used. */
import { Acts, type Act } from './acts.ts';
import { Entries } from './entries.ts';
import type {
  FlowData,
  Happening,
  HistoryData,
  LateChoice,
  Mail,
  NodeData,
  Payload,
  Step,
  Firing,
  WayOut,
} from './flow-data.ts';
import { LatePeople } from './late-people.ts';
import { MailWork } from './mail-work.ts';
import { Moves } from './moves.ts';
import { NodeWork, type StartFlow, type Started } from './node-work.ts';
import type { Changes, People } from './people.ts';
import type { Rules } from './rules.ts';
import { Triggers, type DayCounts } from './triggers.ts';
import { Runs, waitLines, type Draws, type NodeCounts, type Outcome, type Run } from './runs.ts';

/** What became of people in one flow. */
export interface FlowTrace {
  readonly steps: readonly Step[];
  /** After each work: who waits where until when. */
  readonly waits: readonly (readonly string[])[];
  readonly mails: readonly Mail[];
  readonly fired: readonly Firing[];
  /** By version and node. */
  readonly counts: ReadonlyMap<string, NodeCounts>;
}

interface Means extends Pick<HistoryData, 'quiet' | 'cap' | 'customerCap'> {
  readonly people: People;
  readonly rules: Rules;
  readonly listZone: string;
  readonly draws: Draws;
  /** Others of the history are started by nodes. */
  readonly isMain: boolean;
  readonly start: StartFlow;
}

/** Happen to all flows; the others to the main one only. */
const TO_ALL: readonly Happening['do'][] = ['event', 'campaign', 'stop'];

export class FlowReference implements FlowTrace {
  readonly refusals: (string | undefined)[] = [];
  readonly sent: number[] = [];
  readonly waits: (readonly string[])[] = [];
  readonly #isMain: boolean;
  readonly #people: People;
  readonly #reader: number;
  readonly #acts: Acts;
  readonly #flows: readonly FlowData[];
  readonly #rules: Rules;
  readonly #runs: Runs;
  readonly #triggers: Triggers;
  readonly #entries: Entries;
  readonly #late: LatePeople;
  readonly #moves: Moves;
  readonly #mails: MailWork;
  readonly #nodes: NodeWork;
  #status = 'active';
  #begunAt: number | undefined;

  /** `flows`: its versions. */
  constructor(flows: readonly FlowData[], { quiet, cap, customerCap, isMain, ...given }: Means) {
    const { people, rules, listZone } = given;
    this.#flows = flows;
    this.#rules = rules;
    this.#isMain = isMain;
    this.#people = people;
    this.#reader = people.addReader();
    this.#acts = new Acts(rules);
    this.#runs = new Runs({ flows, people, listZone, rules });
    const means = { ...given, flows, runs: this.#runs, acts: this.#acts };
    this.#late = new LatePeople(this.#runs, rules);
    this.#entries = new Entries(means);
    this.#moves = new Moves({ ...means, late: this.#late });
    this.#mails = new MailWork({ ...means, quiet, cap, customerCap });
    this.#nodes = new NodeWork({ ...means, mails: this.#mails });
    const enter = (person: number, reason: string, now: number) =>
      this.#entries.enter(person, { payload: {}, reason }, now);
    this.#triggers = new Triggers({ people, rules, listZone, enter });
  }

  get publications(): readonly string[] {
    return this.#moves.answers;
  }

  get steps(): readonly Step[] {
    return this.#runs.steps;
  }

  get fired(): readonly Firing[] {
    return this.#runs.fired;
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

  /** A node of another flow lets somebody in. */
  letIn(person: number, who: { readonly payload: Payload; readonly depth: number }, now: number): Started {
    if (!this.#rules.isMoving(this.#status)) return { fault: 'flow_not_active' };
    return { refusal: this.#entries.enter(person, { ...who, reason: 'start_flow' }, now) };
  }

  begin(now: number): void {
    if (this.#begunAt === undefined) this.#begin(now, true);
  }

  /** What happens besides work; a person's act if it is one. */
  act(happening: Happening): Act | undefined {
    const { at } = happening;
    if (!this.#isMain && !TO_ALL.includes(happening.do)) return;
    switch (happening.do) {
      case 'execute':
        this.refusals.push(this.#entries.execute(happening));
        return;
      case 'take_out':
        this.#takeOut(happening.person, at);
        return;
      case 'call':
        this.#call(happening, happening.person);
        return;
      case 'call_all':
        this.#call(happening, undefined);
        return;
      case 'campaign':
        this.#mails.addOther(happening);
        return;
      case 'existing':
        if (this.#rules.isMoving(this.#status)) this.#entries.enterExisting(at);
        return;
      case 'retry':
      case 'skip':
        this.#unpark(happening.node, at, happening.do);
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
      case 'stop':
        if (!this.#isMain) this.#status = 'inactive';
        return;
      case 'activate':
        this.#goOn(at, happening.late);
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

  /** Who comes by dates enters, and what has happened to people is read. */
  read(now: number, act: Act | undefined): void {
    const changed = new Map([...this.#people.changes(this.#reader)].map(([no, { fields }]) => [no, fields]));
    if (this.#rules.isMoving(this.#status)) this.#triggers.run(now, changed);
    this.#follow(now, act);
  }

  look(): void {
    this.waits.push(waitLines(this.#runs.all));
  }

  /** What happened meanwhile lets nobody in, and ends no wait; but who has gone leaves, and dates are looked at. */
  #goOn(now: number, choice: LateChoice | undefined): void {
    const changes = this.#people.takeChanges(this.#reader);
    if (this.#status === 'active') return;
    this.#status = 'active';
    this.#late.goOn(now, choice);
    this.#begin(now, true);
    this.#entries.unblock();
    if (!this.#rules.looksAgain) return;
    for (const run of [...this.#runs.all]) {
      const gone = this.#rules.leavesBy(this.#runs.person(run), run.hasUnsubscribed);
      if (gone !== undefined) this.#runs.leave(run, now, gone);
      else if (changes.has(run.person)) this.#moveWake(run, now, changes.get(run.person));
    }
  }

  #unpark(node: string, now: number, asked: 'retry' | 'skip'): void {
    for (const run of this.#runs.all)
      if (run.isParked && run.node === node) this.#runs.unpark(run, now, asked === 'skip' ? asked : undefined);
  }

  #takeOut(person: number, now: number): void {
    for (const run of [...this.#runs.all])
      if (run.person === person && this.#rules.isTakenOut(run, this.#status)) this.#runs.leave(run, now, 'taken_out');
  }

  /** Who waits there goes on, or leaves if they are gone. */
  #call({ node, payload, at: now }: Extract<Happening, { do: 'call' | 'call_all' }>, asked: number | undefined): void {
    const rules = this.#rules;
    if (!rules.isMoving(this.#status)) return;
    for (const run of [...this.#runs.all]) {
      const isThere = run.node === node && this.#runs.node(run).type === 'api_call';
      if (!isThere || !rules.isMeant(run.person, asked)) continue;
      if (!rules.isCalled(run)) continue;
      run.payload = rules.payloadAfterCall(run.payload, payload);
      const gone = rules.leavesBy(this.#runs.person(run), run.hasUnsubscribed);
      if (gone !== undefined) this.#runs.leave(run, now, gone);
      else this.#runs.pass(run, now, { port: 'next', reason: 'called' });
    }
  }

  #begin(now: number, isAnew: boolean): void {
    this.#begunAt = now;
    const flow = this.#flows[this.#runs.published];
    if (flow) this.#triggers.begin(flow, now, isAnew);
  }

  /** Moves everybody who is due, until nobody is; whether anybody was. */
  work(now: number): boolean {
    if (!this.#rules.isMoving(this.#status)) return false;
    for (let hasMoved = false; ; hasMoved = true) {
      const due = this.#runs.all.find(
        (run) => run.wake !== null && this.#rules.isDue(run.wake, now) && !this.#late.isHeld(run, now),
      );
      if (!due) return hasMoved;
      this.#advance(due, now);
    }
  }

  /** Reads what has happened to people. */
  #follow(now: number, act?: Act): void {
    if (!this.#rules.isMoving(this.#status)) return;
    const changes = this.#people.takeChanges(this.#reader);
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
    const asking = this.#nodes.asking(run);
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

  #advance(run: Run, now: number): void {
    this.#late.take(run);
    const gone = this.#rules.leavesBy(this.#runs.person(run), run.hasUnsubscribed);
    if (gone !== undefined) return this.#runs.leave(run, now, gone);
    const node = this.#runs.node(run);
    if (run.over.has(node.id)) return this.#passOver(run, node, now);
    const asked = this.#nodes.asked(run, node, now);
    const outcome = asked === undefined ? this.#outcomeOf(run, node, now) : asked;
    if (outcome === null) return;
    if ('leave' in outcome) return this.#runs.leave(run, now, outcome.leave);
    if ('park' in outcome) return this.#runs.park(run, now, outcome.park);
    if (outcome.port === null) return this.#runs.pass(run, now, { port: null, reason: 'end' });
    this.#runs.pass(run, now, outcome);
  }

  #outcomeOf(run: Run, node: NodeData, now: number): Outcome {
    const leave = this.#wayOutBeforeMail(run, node);
    if (leave !== undefined) return { leave };
    const outcome = this.#nodes.of(run, node, { now, looks: this.waits.length });
    // Who waits again gets the mails after that.
    if (outcome === null) run.asked = undefined;
    return outcome;
  }

  /** Its work was done in an earlier version. */
  #passOver(run: Run, { id }: NodeData, now: number): void {
    if (this.#rules.isOverOnce) run.over.delete(id);
    if (run.asked !== 'skip_mails') run.asked = undefined;
    this.#runs.pass(run, now, { port: 'next', reason: 'done_before' });
  }

  #wayOutBeforeMail(run: Run, node: NodeData): string | undefined {
    if (node.type !== 'send_mail' || !this.#rules.isJudgedBeforeMail) return undefined;
    const asking = this.#nodes.asking(run);
    return this.#wayOut(run, ({ event, person }) => {
      if (person) return this.#rules.isPerson(person, this.#runs.person(run));
      return event !== undefined && this.#acts.hasDone(event, asking, { from: run.enteredAt, until: Infinity });
    });
  }
}
