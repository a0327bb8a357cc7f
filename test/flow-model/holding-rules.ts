/** The rules of quiet hours with a zone, and of caps of a list and of its customer (D82), one function each. No code of the product is used. */
import type { QuietHours } from './flow-data.ts';

/** A cap that is reached. */
interface Reached {
  readonly until: number;
  readonly holdDays: number;
}

export const HOLDING_RULES = {
  /** By which clock the hours are quiet. */
  quietZone({ timezone }: Pick<QuietHours, 'timezone'>, own: string): string {
    return timezone ?? own;
  },
  /** What readers of other lists get counts for the customer’s cap only. */
  countsFor(isCustomers: boolean, isElsewhere: boolean): boolean {
    return isCustomers || !isElsewhere;
  },
  /** Both have to allow the message, and it waits for as long as both hold it. */
  capsTogether(one: Reached, other: Reached): Reached {
    return { until: Math.max(one.until, other.until), holdDays: Math.min(one.holdDays, other.holdDays) };
  },
};
