/** The nodes of a flow: what each type needs (D92). */
import { z } from 'zod';
import { CONFLICT_RULES } from '../../audience/plan-copies.ts';
import { flowCondition } from './flow-condition.ts';
import { parsedRule } from './flow-rule.ts';
import {
  awaitedEvent,
  calendarDay,
  calendarDays,
  duration,
  fieldTag,
  localTimeOfDay,
  nodeId,
  objectUid,
  tagName,
  weekdays,
} from './flow-parts.ts';

const NAME_MAX = 100;
const SUBJECT_MAX = 998;
const TEXT_MAX = 10_000;
const VALUE_MAX = 10_000;
const RECIPIENTS_MAX = 5;
const EMAIL_MAX = 320;
const VARIANTS_MAX = 10;
const REPEAT_DAYS_MAX = 3_660;
const PERCENT = 100;

const base = { id: nodeId, name: z.string().max(NAME_MAX).optional() };

const sendMail = z.strictObject({
  ...base,
  type: z.literal('send_mail'),
  templateUid: objectUid,
  /** Instead of the template's. */
  subject: z.string().min(1).max(SUBJECT_MAX).optional(),
  /** Skipped if this flow sent the same template to the person within so many days (D81). */
  notAgainWithinDays: z.int().min(1).max(REPEAT_DAYS_MAX).optional(),
  /** Also to who has left the list just now: the one exception to "no mail after unsubscribing" (D80). */
  isGoodbye: z.boolean().optional(),
});

const calendarOnly = 'needs a duration in days or weeks';

const wait = z
  .strictObject({
    ...base,
    type: z.literal('wait'),
    for: duration,
    at: localTimeOfDay.optional(),
    weekdays: weekdays.optional(),
    /** Not on the flow's holidays. */
    skipHolidays: z.boolean().optional(),
  })
  .superRefine((given, context) => {
    if (calendarDays(given.for) !== undefined) return;
    for (const name of ['at', 'weekdays', 'skipHolidays'] as const)
      if (given[name] !== undefined) context.addIssue({ code: 'custom', path: [name], message: calendarOnly });
  });

const wholeDays = duration.refine((given) => calendarDays(given) !== undefined, 'must be in days or weeks');

/** Exactly one of `date`, `field` and `weekdays`. */
const waitUntil = z
  .strictObject({
    ...base,
    type: z.literal('wait_until'),
    date: calendarDay.optional(),
    field: fieldTag.optional(),
    weekdays: weekdays.optional(),
    at: localTimeOfDay,
    before: wholeDays.optional(),
    after: wholeDays.optional(),
    yearly: z.boolean().optional(),
  })
  .superRefine((given, context) => {
    const named = [given.date, given.field, given.weekdays].filter((one) => one !== undefined);
    if (named.length !== 1)
      context.addIssue({ code: 'custom', message: 'must have exactly one of: date, field, weekdays' });
    if (given.before !== undefined && given.after !== undefined)
      context.addIssue({ code: 'custom', message: 'must not have both before and after' });
    for (const name of ['before', 'after', 'yearly'] as const)
      if (given[name] !== undefined && given.field === undefined)
        context.addIssue({ code: 'custom', path: [name], message: 'needs a field with a date' });
  });

const waitForEvent = z.strictObject({
  ...base,
  type: z.literal('wait_for_event'),
  event: awaitedEvent,
  for: duration,
  /** From when events count: since the person came to this node, or since they entered the flow (D77). */
  countsFrom: z.enum(['arrival', 'entry']).default('arrival'),
});

const condition = z.strictObject({ ...base, type: z.literal('condition'), if: flowCondition });

const variant = z.strictObject({
  name: z
    .string()
    .max(NAME_MAX)
    .regex(/^[a-z0-9][a-z0-9-]{0,19}$/, 'must be at most 20 small letters, digits and -'),
  percent: z
    .int()
    .min(1)
    .max(PERCENT - 1),
});

const split = z.strictObject({
  ...base,
  type: z.literal('split'),
  variants: z
    .array(variant)
    .min(2)
    .max(VARIANTS_MAX)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must have different names')
    .refine((all) => all.reduce((sum, { percent }) => sum + percent, 0) === PERCENT, 'must add up to 100 percent'),
});

const notify = z.strictObject({
  ...base,
  type: z.literal('notify'),
  /** Users of the customer; absent: its owner. */
  to: z.array(z.string().max(EMAIL_MAX)).min(1).max(RECIPIENTS_MAX).optional(),
  subject: z.string().min(1).max(SUBJECT_MAX),
  text: z.string().min(1).max(TEXT_MAX),
});

const otherList = {
  listUid: objectUid,
  /** What becomes of the values of who is on the other list already (D98). */
  onConflict: z.enum(CONFLICT_RULES).default('keep'),
};

export const node = z.discriminatedUnion('type', [
  sendMail,
  wait,
  waitUntil,
  waitForEvent,
  condition,
  split,
  z.strictObject({ ...base, type: z.literal('add_tag'), tag: tagName }),
  z.strictObject({ ...base, type: z.literal('remove_tag'), tag: tagName }),
  /** An empty value clears the field. */
  z.strictObject({ ...base, type: z.literal('set_field'), field: fieldTag, value: z.string().max(VALUE_MAX) }),
  z.strictObject({ ...base, type: z.literal('copy_to_list'), ...otherList }),
  /** The person stays on this list as unsubscribed, and goes on in this flow only. */
  z.strictObject({ ...base, type: z.literal('move_to_list'), ...otherList }),
  z.strictObject({ ...base, type: z.literal('unsubscribe') }),
  notify,
  z.strictObject({ ...base, type: z.literal('start_flow'), automationUid: objectUid }),
  /** Waits for `POST /automations/:uid/api/call` (D27), and tells the webhooks `automation_webhook`. */
  z.strictObject({ ...base, type: z.literal('api_call'), for: duration.optional() }),
  /** Tells the webhooks `automation_webhook`, and goes on. */
  z.strictObject({ ...base, type: z.literal('webhook') }),
  z.strictObject({ ...base, type: z.literal('end') }),
]);
export type FlowNode = z.output<typeof node>;
export type NodeType = FlowNode['type'];

/** A goal or an exit: the person leaves the flow when it happens, or as soon as the rule is true (D79). */
export const wayOut = z
  .strictObject({ ...base, event: awaitedEvent.optional(), person: parsedRule.optional() })
  .refine(({ event, person }) => (event === undefined) !== (person === undefined), {
    message: 'must have exactly one of: event, person',
  });
