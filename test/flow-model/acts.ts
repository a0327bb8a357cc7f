/** What people did, for the reference: events from outside, and opens and clicks of the mails that flows sent. No code of the product is used. */
import type { AskedAct, Mail, MailQuestion, Payload } from './flow-data.ts';
import type { Rules } from './rules.ts';

export interface SentMail extends Mail {
  readonly at: number;
}

export type Act = { readonly person: number; readonly at: number } & (
  | { readonly type: 'event'; readonly name: string; readonly payload: Payload }
  | { readonly type: 'opened' | 'clicked'; readonly mail: SentMail; readonly isMachine: boolean }
);

/** The run that asks. */
export interface Asking {
  readonly person: number;
  readonly name: string;
  readonly key: string;
  /** The payload's value at the flow's key is the key of an entry. */
  keyOf(payload: Payload): string;
}

export class Acts {
  readonly mails: SentMail[] = [];
  readonly #all: Act[] = [];
  readonly #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  sent(mail: SentMail): void {
    this.mails.push(mail);
  }

  add(act: Act): Act {
    this.#all.push(act);
    return act;
  }

  lastMail(person: number, node: string): SentMail | undefined {
    return this.mails.findLast((mail) => mail.person === person && mail.node === node);
  }

  /** When the flow sent the person this template last. */
  lastOf(person: number, template: string): number | undefined {
    return this.mails.findLast((mail) => mail.person === person && mail.template === template)?.at;
  }

  /** Whether the act is what is asked for, by this run. */
  isIt(asked: AskedAct, act: Act, run: Asking): boolean {
    if (act.person !== run.person) return false;
    if (asked.type === 'event')
      return act.type === 'event' && this.#rules.isEvent(asked, act, { key: run.key, keyOf: run.keyOf });
    if (act.type === 'event' || act.mail.run !== run.name) return false;
    if (asked.mail !== undefined && asked.mail !== act.mail.node) return false;
    return this.#rules.isAct(asked.type, act, asked.machines ?? false);
  }

  /** Whether the run did it in this time. */
  hasDone(asked: AskedAct, run: Asking, { from, until }: { readonly from: number; readonly until: number }): boolean {
    return this.#all.some((act) => this.#rules.isWithin(act.at, { from, until }) && this.isIt(asked, act, run));
  }

  /** Whether somebody opened or clicked this very mail. */
  hasActed(
    kind: 'opened' | 'clicked',
    { mail: node, machines = false }: MailQuestion,
    { run, pass }: { readonly run: string; readonly pass: number },
  ): boolean {
    return this.#all.some(
      (act) =>
        act.type !== 'event' &&
        act.mail.run === run &&
        act.mail.node === node &&
        this.#rules.isOfPass(act.mail.pass, pass) &&
        this.#rules.isAct(kind, act, machines),
    );
  }
}
