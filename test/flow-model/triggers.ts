/** Dates and timetables that bring people into the flow of the reference (D75, D76). No code of the product is used. */
import type { FlowData, TimedTrigger } from './flow-data.ts';
import { daysLater, shownAt } from './local-clock.ts';
import type { People } from './people.ts';
import type { Rules } from './rules.ts';

/** Of the years of histories: every yearly date comes again within. */
const DAYS_AHEAD = 400;
const DAY = 'YYYY-MM-DD'.length;

interface Slot {
  readonly day: string;
  readonly at: number;
}

interface Plan {
  next: Slot | undefined;
  /** No day fires twice. */
  firedOn: string;
}

interface Watched {
  readonly trigger: TimedTrigger;
  readonly startedAt: number;
  readonly plans: Map<number, Plan>;
  readonly days: Map<string, DayCounts>;
}

/** What came of a day. */
export interface DayCounts {
  entered: number;
  refused: number;
  notMatching: number;
  late: number;
}

interface Means {
  readonly people: People;
  readonly rules: Rules;
  readonly listZone: string;
  /** Why the person may not enter; undefined: they have. */
  enter(person: number, reason: string, now: number): string | undefined;
}

export class Triggers {
  readonly #means: Means;
  #watched = new Map<string, Watched>();

  constructor(means: Means) {
    this.#means = means;
  }

  /** What came of the days of the triggers that the flow has. */
  get days(): ReadonlyMap<string, DayCounts> {
    return new Map([...this.#watched.values()].flatMap(({ days }) => [...days]));
  }

  /** The flow was published, or activated: then what was to come meanwhile does not. */
  begin({ triggers }: FlowData, now: number, isAnew: boolean): void {
    const before = this.#watched;
    this.#watched = new Map();
    for (const trigger of triggers.filter((one) => one.type !== 'execute')) {
      const { if: _rule, ...meaning } = trigger;
      const name = JSON.stringify(meaning);
      const known = before.get(name);
      const goesOn = known && this.#means.rules.triggerGoesOn(isAnew) ? known : undefined;
      const plans = new Map<number, Plan>(known?.plans);
      this.#watched.set(name, { trigger, startedAt: goesOn?.startedAt ?? now, plans, days: known?.days ?? new Map() });
      if (goesOn) continue;
      for (const [no] of this.#means.people.all.entries()) {
        const { firedOn = '' } = plans.get(no) ?? {};
        plans.set(no, { firedOn, next: this.#slotAfter(trigger, no, { after: now, firedOn }) });
      }
    }
  }

  /** People who have changed are planned anew; then everybody enters whose time has come. */
  run(now: number, changed: ReadonlyMap<number, ReadonlySet<string>>): void {
    for (const watched of this.#watched.values()) {
      const { trigger, startedAt, plans } = watched;
      for (const [no, fields] of changed) {
        const plan = plans.get(no);
        const hasCome = plan?.next !== undefined && plan.next.at > startedAt && plan.next.at <= now;
        if (!plan || hasCome || !this.#means.rules.movesSlot(trigger, fields)) continue;
        plan.next = this.#slotAfter(trigger, no, { after: now, firedOn: plan.firedOn });
      }
      for (const [no, plan] of plans) this.#fire(watched, { no, plan, now });
    }
  }

  #fire(
    { trigger, days }: Watched,
    { no, plan, now }: { readonly no: number; readonly plan: Plan; readonly now: number },
  ): void {
    const { rules, people } = this.#means;
    if (people.get(no).status === 'deleted') return;
    for (let slot = plan.next; slot && slot.at <= now; slot = plan.next) {
      plan.firedOn = slot.day;
      plan.next = this.#slotAfter(trigger, no, { after: slot.at, firedOn: slot.day });
      const isLate = rules.isLate(slot.at, now);
      const counts = days.get(slot.day) ?? { entered: 0, refused: 0, notMatching: 0, late: 0 };
      days.set(slot.day, counts);
      counts[isLate ? 'late' : this.#entered(trigger, no, now)] += 1;
      if (!isLate) return;
    }
  }

  #entered(trigger: TimedTrigger, no: number, now: number): keyof DayCounts {
    const { rules, people, enter } = this.#means;
    if (trigger.if && !rules.isPerson(trigger.if, people.get(no))) return 'notMatching';
    return enter(no, trigger.type, now) === undefined ? 'entered' : 'refused';
  }

  #slotAfter(
    trigger: TimedTrigger,
    no: number,
    { after, firedOn }: { readonly after: number; readonly firedOn: string },
  ): Slot | undefined {
    const { rules, people, listZone } = this.#means;
    const person = people.get(no);
    const zone = rules.zoneOf(person, listZone);
    const own = trigger.type === 'date_field' ? rules.dayOf(person.fields[trigger.field]) : undefined;
    let day = daysLater(shownAt(zone, after).slice(0, DAY), -1);
    for (let days = 0; days < DAYS_AHEAD; days += 1, day = daysLater(day, 1)) {
      if (!rules.isSlot(trigger, day, own) || rules.hasFired(day, firedOn)) continue;
      const at = rules.instantOf(zone, day, trigger.at);
      if (at > after) return { day, at };
    }
    return undefined;
  }
}
