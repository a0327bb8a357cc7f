/** What the nodes of the reference do. No code of the product is used. */
import type { Acts, Asking } from './acts.ts';
import type { EventWaitNode, NodeData } from './flow-data.ts';
import type { MailWork } from './mail-work.ts';
import type { People } from './people.ts';
import { eventWaitEnd, SETTLED_MS, type Rules } from './rules.ts';
import { isLater, nameOf, type Draws, type Outcome, type Run, type Runs } from './runs.ts';

/** Why nobody can enter the other flow; or else why this person may not. */
export interface Started {
  readonly fault?: string;
  readonly refusal?: string | undefined;
}
export type StartFlow = (flow: number, run: Run, now: number) => Started;

interface Means {
  readonly start: StartFlow;
  readonly runs: Runs;
  readonly people: People;
  readonly acts: Acts;
  readonly mails: MailWork;
  readonly draws: Draws;
  readonly rules: Rules;
}

interface Looking {
  readonly now: number;
  readonly looks: number;
}

export class NodeWork {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  asking(run: Run): Asking {
    const { entry } = this.#means.runs.flow(run);
    return {
      person: run.person,
      name: nameOf(run),
      key: run.key,
      keyOf: (payload) => this.#means.rules.keyOf(entry, payload),
    };
  }

  /** `looks`: how often all waits were looked at by now. */
  of(run: Run, node: NodeData, { now, looks }: Looking): Outcome {
    const rules = this.#means.rules;
    const next = { port: 'next', reason: null };
    switch (node.type) {
      case 'wait':
        return this.#hasToWait(run, now) ? null : next;
      case 'api_call':
        if (!this.#hasToWait(run, now)) return { port: rules.portOfUncalled, reason: null };
        if (rules.firesForCall(node.type, false)) this.#means.runs.fire(run);
        return null;
      case 'webhook':
        if (rules.firesForHook) this.#means.runs.fire(run);
        return next;
      case 'wait_until': {
        const end = this.#means.runs.untilEnd(run, node);
        if (typeof end === 'string') return { port: end, reason: end };
        run.wake = end;
        if (end > now) return null;
        return node.weekdays === undefined && rules.isLate(end, now) ? { port: 'late', reason: 'late' } : next;
      }
      case 'wait_for_event':
        return this.#lookBack(run, node, now);
      case 'send_mail':
        return this.#means.mails.send(run, node, { now, looks });
      case 'condition': {
        const isTrue = rules.isTrue(node.if, this.#means.runs.person(run), run.payload, (kind, question) =>
          this.#means.acts.hasActed(kind, question, { run: nameOf(run), pass: run.passes.get(question.mail) ?? 1 }),
        );
        return { port: isTrue ? 'yes' : 'no', reason: null };
      }
      case 'split': {
        const port =
          this.#means.draws.variant({ person: run.person, run: nameOf(run), node: run.node }) ??
          this.#barred(run, node);
        return { port: rules.isVariant(node, port) ? port : `no variant: ${port}`, reason: null };
      }
      case 'start_flow': {
        const { refusal = null, fault = rules.faultOfStart(refusal) } = this.#means.start(node.flow, run, now);
        return fault === undefined ? { port: 'next', reason: refusal } : this.#failed(run, fault);
      }
      default:
        return this.#change(run, node);
    }
  }

  /** What was asked instead of the node’s work (D85, D87); undefined: nothing that this node can do. */
  asked(run: Run, node: NodeData, now: number): Outcome | undefined {
    const { rules, runs } = this.#means;
    const { asked } = run;
    if (asked === 'skip_mails') return node.type === 'send_mail' ? { port: 'next', reason: 'overdue' } : undefined;
    run.asked = undefined;
    if (asked === 'skip') return { port: rules.portToSkip(node), reason: 'skipped' };
    if (asked === undefined || !rules.waitsAnew(node)) return undefined;
    run.since = now;
    run.hasLooked = true;
    run.isAtWork = false;
    run.wake = node.type === 'wait_for_event' ? this.#eventEnd(run, node) : runs.wakeOf(run);
    if (!isLater(run.wake, now)) return undefined;
    runs.step(run, now, { what: 'stays', reason: 'wait_anew' });
    return null;
  }

  /** Whether who was parked, and moved to the wait, has to wait still: since they came to the node before it. */
  #hasToWait(run: Run, now: number): boolean {
    if (!run.isAtWork) return false;
    const end = this.#means.runs.wakeOf(run);
    if (!isLater(end, now)) return false;
    Object.assign(run, { wake: end, isAtWork: false });
    return true;
  }

  #eventEnd(run: Run, node: EventWaitNode): number {
    return eventWaitEnd(this.#means.rules, node.for, { since: run.since, zone: this.#means.runs.zone(run) });
  }

  /** The variant of who left at the split, since they had come to its node too often: it is not written down. */
  #barred(run: Run, { variants }: Extract<NodeData, { type: 'split' }>): string {
    const ports = variants.map(({ name }) => `variant:${name}`);
    return ports.find((port) => this.#means.runs.isBarred(run, port)) ?? 'nothing';
  }

  /** The nodes that change the person. */
  #change(run: Run, node: NodeData): Outcome {
    const { people } = this.#means;
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
        if (refusal !== undefined) return this.#failed(run, refusal);
        run.hasUnsubscribed ||= node.type === 'move_to_list';
        return next;
      }
      default:
        return { port: null, reason: 'end' };
    }
  }

  /** By `error` where it leads on. */
  #failed(run: Run, reason: string): Outcome {
    const isCaught = this.#means.runs.next(run, run.node, 'error') !== undefined;
    return isCaught ? { port: 'error', reason } : { park: reason };
  }

  #lookBack(run: Run, node: EventWaitNode, now: number): Outcome {
    const rules = this.#means.rules;
    const until = this.#eventEnd(run, node);
    const from = rules.countsFrom(node.countsFrom, run);
    if (this.#means.acts.hasDone(node.event, this.asking(run), { from, until }))
      return { port: 'next', reason: node.event.type };
    const end = node.event.type === 'event' ? until : until + SETTLED_MS;
    if (end <= now) return { port: 'timeout', reason: null };
    run.wake = end;
    run.hasLooked = true;
    return null;
  }
}
