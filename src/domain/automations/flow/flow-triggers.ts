/** What brings people into a flow (D70 to D76): an event, a date, a timetable, a request. */
import { z } from 'zod';
import { parsedRule } from './flow-rule.ts';
import {
  calendarDay,
  duration,
  calendarDays,
  fieldTag,
  localTimeOfDay,
  objectUid,
  payloadPath,
  outsideEvent,
  personEvents,
  pluginEvent,
  weekdays,
} from './flow-parts.ts';

const [subscribed, confirmed, unsubscribed, tagAdded, tagRemoved, fieldChanged] = personEvents;

const LINK_PART_MAX = 200;
const ENTRY_DAYS_MAX = 3_660;
const MONTH_DAY_MAX = 31;

const wholeDays = duration.refine((given) => calendarDays(given) !== undefined, 'must be in days or weeks');

/** Only people to whom this applies at the moment of the trigger enter; `execute` passes by it (D70). */
const onlyIf = { if: parsedRule.optional() };

const onDate = z
  .strictObject({
    type: z.literal('date_field'),
    field: fieldTag,
    before: wholeDays.optional(),
    after: wholeDays.optional(),
    at: localTimeOfDay,
    /** The day and month of the field, every year; 29 February is 28 February in other years (D76). */
    yearly: z.boolean().optional(),
    /** With `yearly`: not in the field's own year. */
    notInFirstYear: z.boolean().optional(),
    ...onlyIf,
  })
  .refine(({ before, after }) => before === undefined || after === undefined, 'must not have both before and after')
  .refine(({ yearly, notInFirstYear }) => yearly === true || notInFirstYear !== true, {
    message: 'must be yearly to leave out the first year',
    path: ['notInFirstYear'],
  });

const openedCampaign = z.strictObject({
  type: z.literal('campaign_opened'),
  /** Absent: any campaign to the list. */
  campaignUid: objectUid.optional(),
  /** Opens and clicks by programs count, too (D78). */
  machines: z.boolean().optional(),
  ...onlyIf,
});

export const trigger = z.discriminatedUnion('type', [
  subscribed.extend(onlyIf),
  confirmed.extend(onlyIf),
  unsubscribed.extend(onlyIf),
  tagAdded.extend(onlyIf),
  tagRemoved.extend(onlyIf),
  fieldChanged.extend(onlyIf),
  outsideEvent.extend(onlyIf),
  onDate,
  z.strictObject({ type: z.literal('specific_date'), date: calendarDay, at: localTimeOfDay, ...onlyIf }),
  z.strictObject({ type: z.literal('weekly'), weekdays, at: localTimeOfDay, ...onlyIf }),
  z.strictObject({
    type: z.literal('monthly'),
    /** The last day of a month that is shorter. */
    day: z.int().min(1).max(MONTH_DAY_MAX),
    at: localTimeOfDay,
    ...onlyIf,
  }),
  z.strictObject({ type: z.literal('segment_entered'), segmentUid: objectUid, ...onlyIf }),
  z.strictObject({ type: z.literal('segment_left'), segmentUid: objectUid, ...onlyIf }),
  openedCampaign,
  openedCampaign.extend({
    type: z.literal('campaign_clicked'),
    linkContains: z.string().min(1).max(LINK_PART_MAX).optional(),
  }),
  /** `POST /automations/:uid/execute` and another flow's `start_flow`, which every flow accepts; this one accepts nothing else. */
  z.strictObject({ type: z.literal('execute') }),
  pluginEvent.extend(onlyIf),
]);

/**
 * How often a person may enter (D70): once, again so many days after the last entry, again after the end, or several at once, one for
 * each value of an event's payload, such as the id of a cart.
 */
export const entry = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('once') }),
  z.strictObject({ mode: z.literal('after_days'), days: z.int().min(1).max(ENTRY_DAYS_MAX) }),
  z.strictObject({ mode: z.literal('after_end') }),
  z.strictObject({ mode: z.literal('per_key'), key: payloadPath }),
]);
export type Entry = z.output<typeof entry>;
