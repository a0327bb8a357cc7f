/** Parts of which a flow's triggers and nodes are made: durations, local times, conditions on a payload, events that are waited for. */
import { z } from 'zod';
import { isDay } from '../../../lib/calendar-day.ts';
import { isUid } from '../../../lib/ids.ts';
import { isOneLine } from '../../../lib/text.ts';
import { localTime } from '../../audience/quiet-hours.ts';
import { conditionChecks, eventName, numberCondition, textCondition } from '../../audience/segments/conditions.ts';
import { TAG_LENGTH_MAX } from '../../audience/subscriber.ts';

/** Five years: longer waits are mistakes. */
const DAYS_MAX = 1_830;
/** Hours and minutes are for short times; use days for longer ones. */
const HOURS_MAX = 24 * 90;
const MINUTES_MAX = 60 * 24 * 7;
/** A node's id is in every row of the history. */
export const NODE_ID_MAX = 40;
const PATH_MAX = 200;
/** Conditions of one event: each is read for every event of that name. */
const WHERE_MAX = 20;

/** Where edges begin that lead from the triggers to the first node. */
export const START = 'start';

export const nodeId = z
  .string()
  .max(NODE_ID_MAX)
  .regex(/^[A-Za-z0-9][\w-]*$/, 'must have letters, digits, _ and - only')
  .refine((id) => id !== START, `must not be “${START}”`);

const oneDuration = {
  minutes: z.int().min(1).max(MINUTES_MAX).optional(),
  hours: z.int().min(1).max(HOURS_MAX).optional(),
  days: z.int().min(1).max(DAYS_MAX).optional(),
  weeks: z
    .int()
    .min(1)
    .max(Math.floor(DAYS_MAX / 7))
    .optional(),
};

/** One of the four. Minutes and hours are elapsed time, days and weeks are days of the calendar in the person's time zone (D74). */
export const duration = z
  .strictObject(oneDuration)
  .refine((given) => Object.values(given).filter((value) => value !== undefined).length === 1, {
    message: 'must have exactly one of: minutes, hours, days, weeks',
  });
export type Duration = z.output<typeof duration>;

/** Days of the calendar; undefined: a duration of minutes or hours. */
export function calendarDays({ days, weeks }: Duration): number | undefined {
  return days ?? (weeks === undefined ? undefined : weeks * 7);
}

export const localTimeOfDay = localTime;

export const calendarDay = z
  .string()
  .refine((given) => isDay(given), 'must be a day such as 2026-12-31')
  .describe('`YYYY-MM-DD`.');

const WEEKDAY_MAX = 7;
/** By ISO 8601. */
export const weekdays = z
  .array(z.int().min(1).max(WEEKDAY_MAX))
  .min(1)
  .max(WEEKDAY_MAX)
  .refine((days) => new Set(days).size === days.length, 'must not name a day twice')
  .describe('1 is Monday, 7 is Sunday.');

export const objectUid = z.string().refine(isUid, 'must be a uid').describe('A uid.');

export const tagName = z
  .string()
  .trim()
  .min(1)
  .max(TAG_LENGTH_MAX)
  .refine(
    (name) => isOneLine(name) && !name.includes(','),
    'must not contain commas, line breaks or control characters',
  );

export const fieldTag = conditionChecks.field.tag;

/** Of a value in an event's payload: `cart.total`, `items.0.sku`. */
export const payloadPath = z
  .string()
  .max(PATH_MAX)
  .regex(/^[A-Za-z_][\w-]*(\.[\w-]+){0,9}$/, 'must be names with dots between them, such as cart.total');

/** For a missing value conditions are as in segments; `isPresent` asks for any value but null. */
export const payloadCondition = z
  .strictObject({
    path: payloadPath,
    text: textCondition.optional(),
    number: numberCondition.optional(),
    isPresent: z.boolean().optional(),
  })
  .refine(
    ({ text, number, isPresent }) => [text, number, isPresent].filter((given) => given !== undefined).length === 1,
    'must have exactly one of: text, number, isPresent',
  );
export type PayloadCondition = z.output<typeof payloadCondition>;

const where = z.array(payloadCondition).max(WHERE_MAX).optional();
const linkContains = z.string().min(1).max(PATH_MAX).optional();

/** An event from outside (`POST /events`). */
export const outsideEvent = z.strictObject({ type: z.literal('event'), name: eventName, where });

const PLUGIN_MAX = 200;

/** An event of a person that a plugin has recorded. */
export const pluginEvent = z.strictObject({
  type: z.literal('plugin_event'),
  plugin: z
    .string()
    .max(PLUGIN_MAX)
    .regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, 'must be the vendor and the name of a plugin, such as acme/shop'),
  name: eventName,
  where,
});

/** The name under which an event of a plugin is recorded: no name from outside has a colon. */
export function nameOfPluginEvent({ plugin, name }: { readonly plugin: string; readonly name: string }): string {
  return `${plugin}:${name}`;
}

/** What happens to a person and starts flows. */
export const personEvents = [
  z.strictObject({ type: z.literal('subscribed') }),
  z.strictObject({ type: z.literal('confirmed') }),
  z.strictObject({ type: z.literal('unsubscribed') }),
  z.strictObject({ type: z.literal('tag_added'), tag: tagName }),
  z.strictObject({ type: z.literal('tag_removed'), tag: tagName }),
  z.strictObject({ type: z.literal('field_changed'), field: fieldTag }),
] as const;

/**
 * What a person who is in a flow can do: waited for by a node, or a goal or an exit. With `sameKey` the event has the value that the
 * person's entry has at the flow's key (D77). An open or click is one of a mail of this run: by the node `mail`, or without it by
 * any; who clicked has opened. Machines' opens and clicks count only when asked for (D78).
 */
export const awaitedEvent = z.discriminatedUnion('type', [
  ...personEvents,
  outsideEvent.extend({ sameKey: z.boolean().optional() }),
  pluginEvent.extend({ sameKey: z.boolean().optional() }),
  z.strictObject({ type: z.literal('opened'), mail: nodeId.optional(), machines: z.boolean().optional() }),
  z.strictObject({
    type: z.literal('clicked'),
    mail: nodeId.optional(),
    linkContains,
    machines: z.boolean().optional(),
  }),
]);
export type AwaitedEvent = z.output<typeof awaitedEvent>;

/** Of an open or click of this run's mail, as a condition. */
export const mailOfRun = z.strictObject({ mail: nodeId, machines: z.boolean().optional() });
export const clickOfRun = mailOfRun.extend({ linkContains });
