/** Conditions of plugins in the rules of segments: "bought something in the last 30 days". */
import type { Label } from './pages.ts';

/** A text in one line, a number, true or false, a day (`2026-12-31`), or one of a few words. */
export type ConditionParameterType = 'text' | 'number' | 'boolean' | 'day' | 'option';

/** What whoever writes the rule may say. */
export interface ConditionParameter {
  /** Small letters, digits and `_`. Stored in rules: a new version must keep it. */
  readonly name: string;
  readonly label: Label;
  readonly type: ConditionParameterType;
  readonly isRequired?: boolean | undefined;
  /** Of an option. */
  readonly options?: readonly { readonly value: string; readonly label: Label }[] | undefined;
  /** Of a number its smallest value. */
  readonly min?: number | undefined;
  /** Of a number its largest value; of a text its length, 1,000 if absent. */
  readonly max?: number | undefined;
}

/** By the names of the parameters; one that was not given is absent. A day is a text. */
export type ConditionValues = Readonly<Record<string, string | number | boolean>>;

export interface ConditionQuestion {
  readonly customerUid: string;
  readonly listUid: string;
  readonly values: ConditionValues;
  /** The time from which days are counted: the same on every page of an answer. */
  readonly asOf: Date;
  /** `next` of the page before; null: the first page. */
  readonly after: string | null;
  /** Fires when nobody waits for the answer any more: end soon. */
  readonly signal: AbortSignal;
}

export interface ConditionPage {
  /** Subscribers of the list by their uid; at most 10,000. Others are left out. */
  readonly uids: readonly string[];
  /** Passed to the next call; null: this was the last page. At most 1,000 characters. */
  readonly next: string | null;
}

/** An entry of the REGISTRY `segment_condition`. */
export interface SegmentCondition {
  /** Begins with the plugin's vendor: `acme_bought`. Stored in rules: a new version must keep it. */
  readonly name: string;
  readonly label: Label;
  readonly parameters: readonly ConditionParameter[];
  /** For all pages of an answer, 1 to 60; 20 if absent. A request waits 20 seconds at most, a campaign for all of it. */
  readonly secondsMax?: number | undefined;
  /**
   * For which subscribers the condition holds, page by page. Throw when you do not know: then nobody is counted, and no campaign starts.
   * An answer is kept for a minute, that of a campaign until its audience is complete.
   */
  find(question: ConditionQuestion): ConditionPage | Promise<ConditionPage>;
}
