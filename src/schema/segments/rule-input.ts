/**
 * Rules of segments as typed input. Where a name can have one of several meanings, the input is a oneOf: exactly one of its
 * fields is given. Limits and combinations are checked by the verb.
 */
import { conditionChecks } from '../../domain/audience/segments/conditions.ts';
import type { InputObjectRef } from '@pothos/core';
import { builder } from '../builder.ts';
import type { DidKind } from '../../domain/audience/segments/segment.ts';
import { closedSet, SubscriberStatus, VerificationState } from '../enums.ts';

type Inputs = typeof builder.$inferSchemaTypes;

/** What the verb gets; it checks the content itself. */
export type SegmentRuleShape = Readonly<Record<string, unknown>>;

const NEGATIVE = 'Also holds for people without a value.';
const ISO_DAY = 'A day of UTC.';

const SegmentTextInput = builder.inputType('SegmentTextInput', {
  checks: conditionChecks.text,
  description: 'About a text, compared without case.',
  isOneOf: true,
  fields: (t) => ({
    is: t.string(),
    isNot: t.string({ description: NEGATIVE }),
    contains: t.string(),
    notContains: t.string({ description: NEGATIVE }),
    startsWith: t.string(),
    endsWith: t.string(),
    in: t.stringList(),
    notIn: t.stringList({ description: NEGATIVE }),
    isEmpty: t.boolean({ description: 'true: there is no value. false: there is one.' }),
  }),
});

const SegmentEmailInput = builder.inputType('SegmentEmailInput', {
  checks: conditionChecks.email,
  description: 'About the address, compared without case and with its domain in ASCII.',
  isOneOf: true,
  fields: (t) => ({
    is: t.string(),
    isNot: t.string(),
    contains: t.string(),
    notContains: t.string(),
    startsWith: t.string(),
    endsWith: t.string(),
    domain: t.string({ description: 'Exactly this domain: `example.org` does not mean `mail.example.org`.' }),
    in: t.stringList(),
    notIn: t.stringList(),
  }),
});

const SegmentNumberRangeInput = builder.inputType('SegmentNumberRangeInput', {
  description: 'Both ends are included.',
  fields: (t) => ({ from: t.float({ required: true }), to: t.float({ required: true }) }),
});

const SegmentNumberInput = builder.inputType('SegmentNumberInput', {
  description: 'About a number. What cannot be read as one is no value.',
  isOneOf: true,
  fields: (t) => ({
    is: t.float(),
    isNot: t.float({ description: NEGATIVE }),
    lt: t.float(),
    lte: t.float(),
    gt: t.float(),
    gte: t.float(),
    between: t.field({ type: SegmentNumberRangeInput }),
    isEmpty: t.boolean(),
  }),
});

const SegmentTimeRangeInput = builder.inputType('SegmentTimeRangeInput', {
  description: 'Both ends are included.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', required: true }),
    to: t.field({ type: 'DateTime', required: true }),
  }),
});

const SegmentTimeInput = builder.inputType('SegmentTimeInput', {
  checks: conditionChecks.time,
  description: 'About a time. Days are those of UTC; relative days count from the moment of asking.',
  isOneOf: true,
  fields: (t) => ({
    before: t.field({ type: 'DateTime' }),
    after: t.field({ type: 'DateTime' }),
    on: t.string({ description: ISO_DAY }),
    between: t.field({ type: SegmentTimeRangeInput }),
    inLastDays: t.int(),
    inNextDays: t.int(),
    moreThanDaysAgo: t.int(),
    moreThanDaysAhead: t.int(),
    anniversaryWithinDays: t.int({
      description: 'Day and month come round today (0) or within so many days, whatever the year: birthdays.',
    }),
    isEmpty: t.boolean(),
  }),
});

const SegmentOptionsInput = builder.inputType('SegmentOptionsInput', {
  checks: conditionChecks.options,
  description: 'About the chosen options of a dropdown, radio, multiselect or checkbox, compared without case.',
  isOneOf: true,
  fields: (t) => ({
    hasAny: t.stringList(),
    hasAll: t.stringList(),
    hasNone: t.stringList({ description: NEGATIVE }),
    isEmpty: t.boolean({ description: 'true: nothing is chosen. false: something is.' }),
  }),
});

const SegmentFieldInput = builder.inputType('SegmentFieldInput', {
  checks: conditionChecks.field,
  description: 'About a custom field: its tag, and exactly one of `text`, `number`, `datetime`, `options`.',
  fields: (t) => ({
    tag: t.string({ required: true }),
    text: t.field({ type: SegmentTextInput, description: 'For fields of any type.' }),
    number: t.field({ type: SegmentNumberInput, description: 'For fields of the type number.' }),
    datetime: t.field({ type: SegmentTimeInput, description: 'For fields of the types date and datetime.' }),
    options: t.field({ type: SegmentOptionsInput, description: 'For fields with options.' }),
  }),
});

const SegmentTagsInput = builder.inputType('SegmentTagsInput', {
  checks: conditionChecks.tags,
  description: "About the person's tags, compared without case.",
  isOneOf: true,
  fields: (t) => ({ hasAny: t.stringList(), hasAll: t.stringList(), hasNone: t.stringList() }),
});

const SegmentCampaignsInput = builder.inputType('SegmentCampaignsInput', {
  checks: conditionChecks.campaigns,
  description: 'Campaigns of the list; by default all that were started.',
  isOneOf: true,
  fields: (t) => ({
    uids: t.stringList(),
    last: t.int({ description: 'So many of the campaigns that were started last.' }),
    startedInLastDays: t.int(),
  }),
});

const AT_LEAST = 'How often in all these campaigns together, at any time; 1 by default.';
const PEOPLE_ONLY =
  'Leave out what programs did (mail proxies, scanners). Without it they count, as in the statistics.';
const DAYS = 'The last time was at most so many days ago. Not together with `atLeast` or `peopleOnly`.';

const SegmentOpenedInput = builder.inputType('SegmentOpenedInput', {
  checks: conditionChecks.activity,
  description: 'People who opened. Empty: any campaign. For people who did not, use `none`.',
  fields: (t) => ({
    campaigns: t.field({ type: SegmentCampaignsInput }),
    inLastDays: t.int({ description: DAYS }),
    atLeast: t.int({ description: AT_LEAST }),
    peopleOnly: t.boolean({ description: PEOPLE_ONLY }),
  }),
});

const SegmentClickedInput = builder.inputType('SegmentClickedInput', {
  checks: conditionChecks.activity,
  description: 'People who clicked. Empty: in any campaign. For people who did not, use `none`.',
  fields: (t) => ({
    campaigns: t.field({ type: SegmentCampaignsInput }),
    inLastDays: t.int({ description: DAYS }),
    atLeast: t.int({ description: AT_LEAST }),
    peopleOnly: t.boolean({ description: PEOPLE_ONLY }),
    linkContains: t.string({
      description: 'A link whose address contains this, without case. Not together with the three above.',
    }),
  }),
});

const SegmentReceivedInput = builder.inputType('SegmentReceivedInput', {
  checks: conditionChecks.activity,
  description:
    'People who were sent a campaign: the receiving server accepted it. Empty: any campaign of the list. For people who were not, use `none`.',
  fields: (t) => ({
    campaigns: t.field({ type: SegmentCampaignsInput }),
    atLeast: t.int({ description: 'The number of these campaigns; 1 by default.' }),
  }),
});

const SegmentEventKind = closedSet<DidKind>(
  'SegmentEventKind',
  'What happened to a person, as their timeline shows it.',
  {
    added: 'Came to the list.',
    confirmed: 'Confirmed the address.',
    changed: 'Fields or the address were changed.',
    tagged: 'Got a tag, or came to the list with one.',
    untagged: 'Lost a tag.',
    moved: 'Came to another list.',
    unsubscribed: 'Left the list.',
    resubscribed: 'Joined the list again.',
    bounced: 'A mail came back.',
    complained: 'Called a mail unwanted.',
  },
);

const SegmentEventInput = builder.inputType('SegmentEventInput', {
  checks: conditionChecks.event,
  description: 'Recorded events of the person: exactly one of `event` and `kind`.',
  fields: (t) => ({
    event: t.string({
      description:
        'The name of an event from outside, such as `order_placed`; of a plugin’s, `acme/shop:order_placed`.',
    }),
    kind: t.field({ type: SegmentEventKind }),
    tag: t.string({ description: 'Of `tagged` and `untagged`: this tag, compared without case.' }),
    field: t.string({ description: 'Of `changed`: the tag of this field.' }),
    inLastDays: t.int({ description: 'At most so many days ago. Without it: as long as events are kept.' }),
    atLeast: t.int({ description: 'So many such events, within these days if there are any; 1 by default.' }),
  }),
});

const SegmentPluginConditionInput = builder.inputType('SegmentPluginConditionInput', {
  checks: conditionChecks.pluginCondition,
  description: 'A condition that a plugin provides; `segmentConditions` lists them.',
  fields: (t) => ({
    plugin: t.string({ required: true, description: '`vendor/name`.' }),
    name: t.string({ required: true }),
    values: t.field({ type: 'JsonObject', description: 'By the names of the parameters.' }),
  }),
});

/** A rule: a group of rules or one condition. */
export const SegmentRuleInput: InputObjectRef<Inputs, SegmentRuleShape> = builder
  .inputRef<SegmentRuleShape>('SegmentRuleInput')
  .implement({
    checks: conditionChecks.rule,
    description:
      'Exactly one of these. Groups hold rules, ten levels deep at most; a rule has at most a hundred conditions.',
    isOneOf: true,
    fields: (t) => ({
      all: t.field({ type: [SegmentRuleInput], description: 'Every one of these holds.' }),
      any: t.field({ type: [SegmentRuleInput], description: 'At least one of these holds.' }),
      none: t.field({ type: [SegmentRuleInput], description: 'None of these holds.' }),
      email: t.field({ type: SegmentEmailInput }),
      field: t.field({ type: SegmentFieldInput }),
      tags: t.field({ type: SegmentTagsInput }),
      status: t.field({ type: [SubscriberStatus], description: 'The subscriber has one of these states.' }),
      source: t.field({ type: SegmentTextInput, description: '`api`, `form`, `import:<uid>`.' }),
      createdAt: t.field({ type: SegmentTimeInput }),
      updatedAt: t.field({ type: SegmentTimeInput }),
      confirmedAt: t.field({ type: SegmentTimeInput, description: 'When a confirmation link was last clicked.' }),
      verification: t.field({
        type: [VerificationState],
        description: 'What a verifier has said of the address is one of these. For "is not" put it into `none`.',
      }),
      verifiedAt: t.field({ type: SegmentTimeInput, description: 'When a verifier was last asked.' }),
      opened: t.field({ type: SegmentOpenedInput }),
      clicked: t.field({ type: SegmentClickedInput }),
      received: t.field({ type: SegmentReceivedInput }),
      did: t.field({ type: SegmentEventInput, description: 'It happened to the person.' }),
      didNot: t.field({
        type: SegmentEventInput,
        description: 'It did not happen to the person, or less often: the opposite of `did`.',
      }),
      pluginCondition: t.field({ type: SegmentPluginConditionInput }),
    }),
  });
