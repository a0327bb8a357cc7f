/**
 * A segment: a saved rule that picks some of a list's people. This file has the words of rules and their limits, and
 * knows no SQL. A rule is a tree: `all`, `any` and `none` hold rules, everything else is one condition. Every condition
 * is true or false for every person, never unknown: what it says about somebody without a value is written beside it.
 */
import type { SubscriberStatus } from '../subscriber-fields.ts';

/** Levels of `all`, `any` and `none`: people lose their way long before, and the parser's stack is bounded. */
export const RULE_DEPTH_MAX = 10;
/** Conditions of one rule. Each may be a join of the one statement that a rule becomes. */
export const RULE_CONDITIONS_MAX = 100;
/** A rule as it is stored: it is read with every count and copied into every campaign that is started with it. */
export const RULE_BYTES_MAX = 64 * 1024;
/** Values of one `in`. Longer lists of people are tags or lists of their own. */
export const RULE_VALUES_MAX = 500;
/** Longer than any value that is typed; long remarks are looked for by a part of them. */
export const RULE_TEXT_MAX = 1_000;
/** Campaigns named by one condition. */
export const RULE_CAMPAIGNS_MAX = 50;
/** A century. */
export const RULE_DAYS_MAX = 36_500;
/** An anniversary further ahead comes round anyway. */
export const ANNIVERSARY_DAYS_MAX = 365;
export const SEGMENT_NAME_MAX = 255;
/** Segments of one list when the plan says nothing: bounds what a list takes with it. */
export const SEGMENTS_PER_LIST_MAX = 1_000;

export interface Segment {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly uid: string;
  readonly listId: bigint;
  readonly name: string;
  readonly rule: SegmentRule;
}

/** What a campaign keeps of its segment when it is started: edits and deletions afterwards change nothing. */
export interface SegmentSnapshot {
  readonly uid: string;
  readonly name: string;
  readonly rule: SegmentRule;
  /** The moment that "in the last seven days" counts from, ISO 8601: the same for every slice of the plan. */
  readonly asOf: string;
}

/** Whom the rule is asked about. */
export interface RuleScope {
  readonly customerId: bigint;
  readonly listId: bigint;
  /** Ids from..to, both included; without it everybody on the list. */
  readonly ids?: { readonly from: bigint; readonly to: bigint } | undefined;
  /** The moment that days are counted from. */
  readonly asOf: Date;
  /** A campaign that does not count among the last ones: the one that is being planned. */
  readonly exceptCampaignId?: bigint | undefined;
}

export type SegmentRule =
  | { readonly all: readonly SegmentRule[] }
  | { readonly any: readonly SegmentRule[] }
  | { readonly none: readonly SegmentRule[] }
  | Condition;

export type Condition =
  | { readonly email: EmailCondition }
  | { readonly field: FieldCondition }
  | { readonly tags: TagsCondition }
  | { readonly status: readonly SubscriberStatus[] }
  | { readonly source: TextCondition }
  | { readonly createdAt: TimeCondition }
  | { readonly updatedAt: TimeCondition }
  /** When the person last clicked a confirmation link; without one there is no value. */
  | { readonly confirmedAt: TimeCondition }
  | { readonly opened: OpenedCondition }
  | { readonly clicked: ClickedCondition }
  | { readonly received: ReceivedCondition };

/** Compared without case. Without a value only `isNot`, `notContains`, `notIn` and `isEmpty: true` hold. */
export type TextCondition =
  | { readonly is: string }
  | { readonly isNot: string }
  | { readonly contains: string }
  | { readonly notContains: string }
  | { readonly startsWith: string }
  | { readonly endsWith: string }
  | { readonly in: readonly string[] }
  | { readonly notIn: readonly string[] }
  | { readonly isEmpty: boolean };

/** Against the address as it is compared (D20): lower case, domain in ASCII. */
export type EmailCondition =
  | { readonly is: string }
  | { readonly isNot: string }
  | { readonly contains: string }
  | { readonly notContains: string }
  | { readonly startsWith: string }
  | { readonly endsWith: string }
  | { readonly domain: string }
  | { readonly in: readonly string[] }
  | { readonly notIn: readonly string[] };

/** What cannot be read as a number is no value. Without one only `isNot` and `isEmpty: true` hold. */
export type NumberCondition =
  | { readonly is: number }
  | { readonly isNot: number }
  | { readonly lt: number }
  | { readonly lte: number }
  | { readonly gt: number }
  | { readonly gte: number }
  /** Both ends belong to it. */
  | { readonly between: { readonly from: number; readonly to: number } }
  | { readonly isEmpty: boolean };

/**
 * Times are ISO 8601; days are those of UTC. What cannot be read as a time is no value. Without one only
 * `isEmpty: true` holds.
 */
export type TimeCondition =
  | { readonly before: string }
  | { readonly after: string }
  /** YYYY-MM-DD. */
  | { readonly on: string }
  /** Both ends belong to it. */
  | { readonly between: { readonly from: string; readonly to: string } }
  | { readonly inLastDays: number }
  | { readonly inNextDays: number }
  | { readonly moreThanDaysAgo: number }
  | { readonly moreThanDaysAhead: number }
  /** Day and month come round today (0) or within so many days; 29 February counts as the 28th where it is missing. */
  | { readonly anniversaryWithinDays: number }
  | { readonly isEmpty: boolean };

/** A field of the list by its tag, read as one of three types. */
export type FieldCondition = { readonly tag: string } & (
  | { readonly text: TextCondition }
  | { readonly number: NumberCondition }
  | { readonly datetime: TimeCondition }
);

export type TagsCondition =
  | { readonly hasAny: readonly string[] }
  | { readonly hasAll: readonly string[] }
  | { readonly hasNone: readonly string[] };

/** Which of the list's campaigns are meant; without one, all of them. */
export type CampaignChoice =
  | { readonly uids: readonly string[] }
  /** The last so many that were started. */
  | { readonly last: number }
  | { readonly startedInLastDays: number };

export interface OpenedCondition {
  readonly campaigns?: CampaignChoice | undefined;
  /** The person's last open of such a campaign lies so many days back at most. */
  readonly inLastDays?: number | undefined;
  /** So many opens of these campaigns together, whenever they were; 1 without it. */
  readonly atLeast?: number | undefined;
  /** Leave out what programs did: mail proxies, scanners. They count unless this says so. */
  readonly peopleOnly?: boolean | undefined;
}

export interface ClickedCondition extends OpenedCondition {
  /** Of a link whose address contains this text, without case. */
  readonly linkContains?: string | undefined;
}

/** Accepted by the receiving server (state `sent` in the ledger). */
export interface ReceivedCondition {
  readonly campaigns?: CampaignChoice | undefined;
  /** So many of these campaigns; 1 without it. */
  readonly atLeast?: number | undefined;
}
