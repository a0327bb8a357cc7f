/** The rules of entry for one person in a dry run (D70): nobody has entered before it. Pure. */
import { unreachable } from '../../../lib/errors.ts';
import { DEPTH_MAX, type Refusal } from '../entries/enter-people.ts';
import type { DryEntry } from './dry-run-entries.ts';
import type { Entry } from '../flow/flow-triggers.ts';

const DAY_MS = 86_400_000;

export interface Applying {
  readonly entry: DryEntry;
  refused: Refusal | null;
  /** Of the run; null: it goes on. */
  readonly endedAt: () => Date | null;
}

export class DryAdmission<One extends Applying> {
  readonly #rule: Entry;
  readonly #waiting: One[];
  readonly #entered: One[] = [];

  /** `applying`: in the order of their times. */
  constructor(rule: Entry, applying: readonly One[]) {
    this.#rule = rule;
    this.#waiting = [...applying];
  }

  /** Those who may enter next; the others get their refusals. When the end of a run decides about the next one, it is asked for again. */
  next(): readonly One[] {
    const admitted: One[] = [];
    for (let one = this.#waiting.shift(); one; one = this.#waiting.shift()) {
      one.refused ??= this.#refusalOf(one.entry) ?? null;
      if (one.refused !== null) continue;
      this.#entered.push(one);
      admitted.push(one);
      if (this.#rule.mode === 'after_end') break;
    }
    return admitted;
  }

  #refusalOf({ depth, entryKey, at }: DryEntry): Refusal | undefined {
    if (depth > DEPTH_MAX) return 'too_deep';
    const last = this.#entered.at(-1);
    switch (this.#rule.mode) {
      case 'per_key':
        if (entryKey === '') return 'no_key';
        return this.#entered.some(({ entry }) => entry.entryKey === entryKey) ? 'key_entered' : undefined;
      case 'once':
        return last ? 'entered_before' : undefined;
      case 'after_days':
        return last && at.getTime() < last.entry.at.getTime() + this.#rule.days * DAY_MS ? 'too_soon' : undefined;
      case 'after_end': {
        const endedAt = last?.endedAt();
        return last && (!endedAt || endedAt > at) ? 'in_flow' : undefined;
      }
      default:
        return unreachable(this.#rule);
    }
  }
}
