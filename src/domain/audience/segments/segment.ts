/**
 * A segment: a saved rule that picks some of a list's people. This file has the words and limits of rules, and no SQL. A rule is
 * a tree: `all`, `any` and `none` contain rules, everything else is one condition. Every condition is true or false for every
 * person, never unknown; the meaning for a missing value is documented beside it.
 */
import { VERIFICATION_RESULTS, type ConditionValues } from '../../../plugin-api/index.ts';
import type { PersonEventKind } from '../../../events/person-event.ts';
import type { SubscriberStatus } from '../subscriber-fields.ts';

/** Levels of `all`, `any` and `none`: more are not understandable, and the parser's stack is limited. */
export const RULE_DEPTH_MAX = 10;
/** Conditions of one rule. Each may be a join of the one statement that a rule becomes. */
export const RULE_CONDITIONS_MAX = 100;
/** The limit of a stored rule: it is read with every count and copied into every campaign that is started with it. */
export const RULE_BYTES_MAX = 64 * 1024;
/** Values of one `in`. Use tags or lists for more people. */
export const RULE_VALUES_MAX = 500;
/** Longer than any value that is typed; search for a part of a long text. */
export const RULE_TEXT_MAX = 1_000;
/** Campaigns named by one condition. */
export const RULE_CAMPAIGNS_MAX = 50;
/** A century. */
export const RULE_DAYS_MAX = 36_500;
/** A later anniversary comes every year anyway. */
export const ANNIVERSARY_DAYS_MAX = 365;
/** Conditions of plugins in one rule: each is a question to somebody else's code, which may take a minute. */
export const RULE_PLUGIN_CONDITIONS_MAX = 5;
export const SEGMENT_NAME_MAX = 255;
/** Segments of one list when the plan has no limit. */
export const SEGMENTS_PER_LIST_MAX = 1_000;

export const VERIFICATION_WORDS = [...VERIFICATION_RESULTS, 'unverified'] as const;
export type VerificationWord = (typeof VERIFICATION_WORDS)[number];

export interface Segment {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly uid: string;
  readonly listId: bigint;
  readonly name: string;
  readonly rule: SegmentRule;
}

/** A campaign's copy of its segment from its start: later changes and deletions have no effect. */
export interface SegmentSnapshot {
  readonly uid: string;
  readonly name: string;
  readonly rule: SegmentRule;
  /** The time from which "in the last seven days" counts, ISO 8601: the same for every slice. */
  readonly asOf: string;
  /** Of conditions of plugins: ids of answers by `questionKey`. Every slice uses these. */
  readonly answers?: Readonly<Record<string, string>>;
}

/** Ids of answers by `questionKey`. */
export type AnswersByQuestion = ReadonlyMap<string, bigint>;

/** The people to whom the rule is applied. */
export interface RuleScope {
  readonly customerId: bigint;
  readonly listId: bigint;
  /** Ids from..to, both included; without it all people of the list. */
  readonly ids?: { readonly from: bigint; readonly to: bigint } | undefined;
  /** Some of the range: nobody else is asked for, so what others did need not be read. */
  readonly among?: readonly bigint[] | undefined;
  /** The time from which days are counted. */
  readonly asOf: Date;
  /** Of conditions of plugins: the complete answer (its id) by the key of the question. One without an answer cannot be read. */
  readonly answers?: AnswersByQuestion | undefined;
  /** A campaign that does not count among the last ones: the one that is being started. */
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
  /** What a verifier has said; `unverified`: nothing. */
  | { readonly verification: readonly VerificationWord[] }
  /** When a verifier was last asked; without a result there is no value. */
  | { readonly verifiedAt: TimeCondition }
  | { readonly opened: OpenedCondition }
  | { readonly clicked: ClickedCondition }
  | { readonly received: ReceivedCondition }
  /** What happened to the person, and what the person did elsewhere. */
  | { readonly did: EventCondition }
  /** The same, reversed: also people without any such event. */
  | { readonly didNot: EventCondition }
  | { readonly pluginCondition: PluginCondition };

/** Compared without case. For a missing value only `isNot`, `notContains`, `notIn` and `isEmpty: true` are true. */
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

/** Compared with the address in its compared form (D20): lower case, domain in ASCII. */
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

/** A text that is no number is a missing value. For one only `isNot` and `isEmpty: true` are true. */
export type NumberCondition =
  | { readonly is: number }
  | { readonly isNot: number }
  | { readonly lt: number }
  | { readonly lte: number }
  | { readonly gt: number }
  | { readonly gte: number }
  /** Both ends are included. */
  | { readonly between: { readonly from: number; readonly to: number } }
  | { readonly isEmpty: boolean };

/** Times are ISO 8601; days are UTC. A text that is no time is a missing value. For one only `isEmpty: true` is true. */
export type TimeCondition =
  | { readonly before: string }
  | { readonly after: string }
  /** YYYY-MM-DD. */
  | { readonly on: string }
  /** Both ends are included. */
  | { readonly between: { readonly from: string; readonly to: string } }
  | { readonly inLastDays: number }
  | { readonly inNextDays: number }
  | { readonly moreThanDaysAgo: number }
  | { readonly moreThanDaysAhead: number }
  /** Day and month recur today (0) or within so many days; 29 February counts as the 28th where it is missing. */
  | { readonly anniversaryWithinDays: number }
  | { readonly isEmpty: boolean };

/** Of a field with options, compared without case; a person without a value has none of them. */
export type OptionsCondition =
  | { readonly hasAny: readonly string[] }
  | { readonly hasAll: readonly string[] }
  | { readonly hasNone: readonly string[] }
  | { readonly isEmpty: boolean };

/** A field of the list by its tag, read as one of four types. */
export type FieldCondition = { readonly tag: string } & (
  | { readonly text: TextCondition }
  | { readonly number: NumberCondition }
  | { readonly datetime: TimeCondition }
  | { readonly options: OptionsCondition }
);

export type TagsCondition =
  | { readonly hasAny: readonly string[] }
  | { readonly hasAll: readonly string[] }
  | { readonly hasNone: readonly string[] };

/** The chosen campaigns of the list; without a choice, all of them. */
export type CampaignChoice =
  | { readonly uids: readonly string[] }
  /** The last so many that were started. */
  | { readonly last: number }
  | { readonly startedInLastDays: number };

export interface OpenedCondition {
  readonly campaigns?: CampaignChoice | undefined;
  /** The person's last open of such a campaign is at most so many days ago. */
  readonly inLastDays?: number | undefined;
  /** So many opens of these campaigns together, at any time; default 1. */
  readonly atLeast?: number | undefined;
  /** Exclude machines: mail proxies, scanners. Without this they count. */
  readonly peopleOnly?: boolean | undefined;
}

export interface ClickedCondition extends OpenedCondition {
  /** A link whose address contains this text, without case. */
  readonly linkContains?: string | undefined;
}

/** Accepted by the receiving server (state `sent` in the ledger). */
export interface ReceivedCondition {
  readonly campaigns?: CampaignChoice | undefined;
  /** So many of these campaigns; default 1. */
  readonly atLeast?: number | undefined;
}

/** The kinds of recorded events that conditions name. Who was removed is on no list. */
export const DID_KINDS = [
  ...(['added', 'confirmed', 'changed', 'tagged', 'untagged', 'moved'] as const),
  ...(['unsubscribed', 'resubscribed', 'bounced', 'complained'] as const),
] as const satisfies readonly PersonEventKind[];
export type DidKind = (typeof DID_KINDS)[number];

/** Recorded events of people: an event from outside by its name (`order_placed`, a plugin's `acme/shop:order_placed`), or one of a kind. */
export type EventCondition = ({ readonly event: string } | KindOfEvent) & {
  /** At most so many days ago. */
  readonly inLastDays?: number | undefined;
  /** So many such events, within these days if there are any; default 1. */
  readonly atLeast?: number | undefined;
};

export interface KindOfEvent {
  readonly kind: DidKind;
  /** Of `tagged` and `untagged`: this tag, compared without case. Who comes with a tag got it then. */
  readonly tag?: string | undefined;
  /** Of `changed`: this field, or `EMAIL`. */
  readonly field?: string | undefined;
}

/** A condition that a plugin provides; its people are what the plugin answers. */
export interface PluginCondition {
  /** `vendor/name`. */
  readonly plugin: string;
  readonly name: string;
  readonly values: ConditionValues;
}

/** The answers of a campaign's copy. */
export function keptAnswers(answers: SegmentSnapshot['answers'] = {}): AnswersByQuestion {
  return new Map(Object.entries(answers).map(([question, id]) => [question, BigInt(id)]));
}
