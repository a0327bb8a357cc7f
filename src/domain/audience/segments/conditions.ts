/** The conditions of rules as input, checked: one zod schema per kind. Null means absent everywhere. */
import { z } from 'zod';
import { EMAIL_BYTES_MAX, emailKey, isEmailAddress, isOneLine, isPlainText } from '../../../lib/text.ts';
import { isDay } from '../../../lib/calendar-day.ts';
import { isUid } from '../../../lib/ids.ts';
import { SUBSCRIBER_STATUSES } from '../subscriber-fields.ts';
import { TAG_LENGTH_MAX, TAGS_MAX } from '../subscriber.ts';
import {
  ANNIVERSARY_DAYS_MAX,
  DID_KINDS,
  RULE_CAMPAIGNS_MAX,
  RULE_CONDITIONS_MAX,
  RULE_DAYS_MAX,
  RULE_TEXT_MAX,
  RULE_VALUES_MAX,
  VERIFICATION_WORDS,
  type CampaignChoice,
  type ClickedCondition,
  type Condition,
  type EmailCondition,
  type EventCondition,
  type FieldCondition,
  type NumberCondition,
  type OpenedCondition,
  type OptionsCondition,
  type PluginCondition,
  type ReceivedCondition,
  type TagsCondition,
  type TextCondition,
  type TimeCondition,
} from './segment.ts';

const CONDITION_NAME_MAX = 60;
/** Vendor and name. */
const PLUGIN_NAME_MAX = 200;
/** How many of the last campaigns a condition can name. */
const LAST_CAMPAIGNS_MAX = 1_000;
const AT_LEAST_MAX = 1_000_000;

/** Schemas of objects of which exactly one key has a value: the published JSON Schema of flows says so of them. */
export const singleValued = new WeakSet<object>();

/** Exactly one of these keys has a value. */
function oneOf<Value>(shape: Record<string, z.ZodType>): z.ZodType<Value> {
  const names = Object.keys(shape).join(', ');
  const optional = Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, type.optional()]));
  const made = z
    .preprocess(withoutNulls, z.strictObject(optional))
    .refine((given) => Object.keys(given).length === 1, `must have exactly one of: ${names}`)
    .transform((given) => given as Value);
  singleValued.add(made);
  return made;
}

function object<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(withoutNulls, z.strictObject(shape));
}

/** A copy with own keys only, without those that are null or undefined. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined));
}

const text = z.string().min(1).max(RULE_TEXT_MAX).refine(isPlainText, 'must not contain control characters');
const texts = z.array(text).min(1).max(RULE_VALUES_MAX);
const isEmpty = z.boolean();
const number = z.number();
const days = z.int().min(0).max(RULE_DAYS_MAX);

const textShape = {
  ...{ is: text, isNot: text, contains: text, notContains: text, startsWith: text, endsWith: text },
  ...{ in: texts, notIn: texts, isEmpty },
};
export const textCondition = oneOf<TextCondition>(textShape);

const address = text
  .refine(isEmailAddress, 'must be a valid email address')
  .describe(`An email address of at most ${EMAIL_BYTES_MAX} bytes.`)
  .transform(emailKey);
const addresses = z.array(address).min(1).max(RULE_VALUES_MAX);
const domain = text
  .transform((name) => name.replace(/^@/, ''))
  .refine((name) => isEmailAddress(`x@${name}`), 'must be a domain name such as example.org')
  .transform((name) => emailKey(`x@${name}`).slice(2));

const emailShape = {
  ...{ is: address, isNot: address, contains: text, notContains: text, startsWith: text, endsWith: text, domain },
  ...{ in: addresses, notIn: addresses },
};
const emailCondition = oneOf<EmailCondition>(emailShape);

export const numberCondition = oneOf<NumberCondition>({
  ...{ is: number, isNot: number, lt: number, lte: number, gt: number, gte: number, isEmpty },
  between: object({ from: number, to: number }).refine(({ from, to }) => from <= to, 'must begin before it ends'),
});

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;
const YEAR_MAX = 9999;

/** A point in time: a Date, or ISO 8601 with a zone; kept as ISO 8601 in UTC. */
const time = z.union([z.date(), z.string()]).transform((given, context) => {
  const date = typeof given === 'string' && !ISO_TIME.test(given) ? new Date(Number.NaN) : new Date(given);
  const year = date.getUTCFullYear();
  if (year >= 1 && year <= YEAR_MAX) return date.toISOString();
  context.addIssue({ code: 'custom', message: 'must be a time such as 2026-12-31T23:59:00Z', input: given });
  return z.NEVER;
});

const day = z
  .string()
  .refine((given) => isDay(given), 'must be a day such as 2026-12-31')
  .describe('`YYYY-MM-DD`.');

const timeShape = {
  ...{ before: time, after: time, on: day, isEmpty },
  between: object({ from: time, to: time }).refine(({ from, to }) => from <= to, 'must begin before it ends'),
  ...{ inLastDays: days, inNextDays: days, moreThanDaysAgo: days, moreThanDaysAhead: days },
  anniversaryWithinDays: z.int().min(0).max(ANNIVERSARY_DAYS_MAX),
};
const timeCondition = oneOf<TimeCondition>(timeShape);

const optionsShape = { hasAny: texts, hasAll: texts, hasNone: texts, isEmpty };
const optionsCondition = oneOf<OptionsCondition>(optionsShape);

const FIELD_TYPES = ['text', 'number', 'datetime', 'options'] as const;

const fieldShape = {
  tag: z
    .string()
    .max(RULE_TEXT_MAX)
    .transform((tag) => tag.toUpperCase()),
  text: textCondition.optional(),
  number: numberCondition.optional(),
  datetime: timeCondition.optional(),
  options: optionsCondition.optional(),
};
const fieldCondition: z.ZodType<FieldCondition> = object(fieldShape)
  .refine(
    (given) => FIELD_TYPES.filter((type) => given[type] !== undefined).length === 1,
    `must have exactly one of: ${FIELD_TYPES.join(', ')}`,
  )
  .transform((given) => given as FieldCondition);

const tag = z
  .string()
  .trim()
  .min(1)
  .max(TAG_LENGTH_MAX)
  .refine(isOneLine, 'must not contain line breaks or control characters');
const tags = z.array(tag).min(1).max(TAGS_MAX);
const tagsShape = { hasAny: tags, hasAll: tags, hasNone: tags };
const tagsCondition = oneOf<TagsCondition>(tagsShape);

const uid = z.string().refine(isUid, 'must be the uid of a campaign').describe('A uid.');
const campaignsShape = {
  uids: z.array(uid).min(1).max(RULE_CAMPAIGNS_MAX),
  last: z.int().min(1).max(LAST_CAMPAIGNS_MAX),
  startedInLastDays: days,
};
const campaigns = oneOf<CampaignChoice>(campaignsShape).optional();
const atLeast = z.int().min(1).max(AT_LEAST_MAX).optional();

const activity = { campaigns, inLastDays: days.optional(), atLeast, peopleOnly: z.boolean().optional() };

/** Of a person's opens of a campaign only the number and the time of the last one are stored, not how many were in some days. */
const DAYS_AND_COUNT =
  'cannot have inLastDays with atLeast or peopleOnly: choose campaigns by startedInLastDays instead';
const countsNoDays = (given: OpenedCondition) =>
  given.inLastDays === undefined || ((given.atLeast ?? 1) === 1 && given.peopleOnly !== true);

const openedCondition: z.ZodType<OpenedCondition> = object(activity).refine(countsNoDays, DAYS_AND_COUNT);

/** For a link only who ever clicked it is stored, not when or how often. */
const LINK_ALONE = 'cannot have linkContains together with inLastDays, atLeast or peopleOnly';
const linkAlone = (given: ClickedCondition) =>
  given.linkContains === undefined ||
  (given.inLastDays === undefined && (given.atLeast ?? 1) === 1 && given.peopleOnly !== true);

const clickedShape = { ...activity, linkContains: text.optional() };
const clickedCondition: z.ZodType<ClickedCondition> = object(clickedShape)
  .refine(countsNoDays, DAYS_AND_COUNT)
  .refine(linkAlone, LINK_ALONE);

const receivedCondition: z.ZodType<ReceivedCondition> = object({ campaigns, atLeast });

/** Such as `order_placed`; an event of a plugin has the plugin's name before it: `acme/shop:order_placed`. */
const EVENT_NAME_MAX = 100;
const RECORDED_NAME_MAX = PLUGIN_NAME_MAX + EVENT_NAME_MAX + 1;
/** Names of events from outside. */
export const eventName = z
  .string()
  .max(EVENT_NAME_MAX)
  .regex(/^[a-z][a-z0-9_.]*$/, 'must have small letters, digits, _ and . only, such as order_placed');
const recordedName = z
  .string()
  .max(RECORDED_NAME_MAX)
  .regex(
    /^(?:[a-z0-9-]+\/[a-z0-9-]+:)?[a-z][a-z0-9_.]*$/,
    'must be the name of an event, such as order_placed, or acme/shop:order_placed for an event of a plugin',
  );

const eventShape = {
  event: recordedName.optional(),
  kind: z.enum(DID_KINDS).optional(),
  tag: tag.optional(),
  field: fieldShape.tag.optional(),
  ...{ inLastDays: days.optional(), atLeast },
};
const TAG_KINDS: readonly unknown[] = ['tagged', 'untagged'];
/** Each for `did` and `didNot`: the published JSON Schema of flows names them both. */
const eventCondition = (): z.ZodType<EventCondition> =>
  object(eventShape)
    .refine(
      (given) => (given.event === undefined) !== (given.kind === undefined),
      'must have exactly one of: event, kind',
    )
    .refine((given) => given.tag === undefined || TAG_KINDS.includes(given.kind), {
      message: 'is only for the kinds tagged and untagged',
      path: ['tag'],
    })
    .refine((given) => given.field === undefined || given.kind === 'changed', {
      message: 'is only for the kind changed',
      path: ['field'],
    })
    .transform(({ event, kind, tag: ofTag, field, ...often }): EventCondition => {
      if (event !== undefined) return { event, ...often };
      return kind === undefined ? z.NEVER : { kind, ...(ofTag && { tag: ofTag }), ...(field && { field }), ...often };
    });

export type ConditionName = Condition extends infer One ? (One extends unknown ? keyof One : never) : never;

/** Values of one condition: more than a plugin may have parameters. */
const VALUES_MAX = 30;
const NAME = /^[a-z][a-z0-9_]{0,59}$/;

const pluginConditionShape = {
  plugin: z
    .string()
    .max(PLUGIN_NAME_MAX)
    .regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, 'must be the vendor and the name of a plugin, such as acme/shop'),
  name: z.string().max(CONDITION_NAME_MAX).regex(NAME, 'must be the name of a condition'),
};
/** Whether they fit the plugin's parameters: check-plugin-conditions.ts. */
const pluginValues = z
  .preprocess(
    withoutNulls,
    z.record(z.string().regex(NAME, 'must be the name of a parameter'), z.union([text, number, z.boolean()])),
  )
  .refine((values) => Object.keys(values).length <= VALUES_MAX, `must not have more than ${VALUES_MAX} values`);
const pluginCondition: z.ZodType<PluginCondition> = object({
  ...pluginConditionShape,
  values: pluginValues.default({}),
});

const statuses = z.array(z.enum(SUBSCRIBER_STATUSES)).min(1).max(SUBSCRIBER_STATUSES.length);
const verification = z.array(z.enum(VERIFICATION_WORDS)).min(1).max(VERIFICATION_WORDS.length);
/** The rules inside are read one by one (parse-rule.ts). */
const group = z.array(z.unknown()).max(RULE_CONDITIONS_MAX);

/** The checks of the parts of conditions, by the inputs of the schema. */
export const conditionChecks = {
  ...{ text: textShape, email: emailShape, time: timeShape, options: optionsShape, tags: tagsShape },
  ...{ field: fieldShape, campaigns: campaignsShape, activity: clickedShape, pluginCondition: pluginConditionShape },
  event: eventShape,
  rule: { all: group, any: group, none: group, status: statuses, verification },
};

/** The schema of each kind of condition. */
export const conditionSchemas: Readonly<Record<ConditionName, z.ZodType>> = {
  email: emailCondition,
  field: fieldCondition,
  tags: tagsCondition,
  status: statuses,
  source: textCondition,
  createdAt: timeCondition,
  updatedAt: timeCondition,
  confirmedAt: timeCondition,
  verification,
  verifiedAt: timeCondition,
  opened: openedCondition,
  clicked: clickedCondition,
  received: receivedCondition,
  did: eventCondition(),
  didNot: eventCondition(),
  pluginCondition,
};
