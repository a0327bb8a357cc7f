/**
 * The noun: a webhook, which reports events to a web server by HTTP requests. This file says what an input may contain; it never
 * connects.
 */
import { z } from 'zod';
import type { RowOfFields, ValuesOf } from '../../db/fields.ts';
import { URL_LENGTH_MAX } from '../../lib/outbound-request.ts';
import { multiLine, singleLine } from '../../lib/text.ts';
import { webhookEventNames, type WebhookKind } from './webhook-events.ts';
import { webhookMethods, type webhookColumns, type webhookFields } from './webhook-fields.ts';
import { SECRET_LENGTH_MAX, SECRET_LENGTH_MIN } from './webhook-secret.ts';

/** Of the installation. More are a mistake of a looping program. */
export const LIFECYCLE_WEBHOOKS_MAX = 1_000;
/** Of a customer: each event makes a delivery of each webhook that asks for it. */
export const WEBHOOKS_PER_CUSTOMER_MAX = 100;

const NAME_LENGTH_MAX = 255;
/** Longer than any uid: a longer text is refused before it is searched for. */
const UID_LENGTH_MAX = 64;
const HEADERS_MAX = 30;
/** Web servers refuse headers of more than 8 KB in all. */
const HEADER_LENGTH_MAX = 2_048;
const TEMPLATE_LENGTH_MAX = 65_536;
/** With the delays of the schedule more never happen within the time for which deliveries are kept. */
const RETRY_TIMES_MAX = 50;
/** Two days: the twelfth try of the default of customers' webhooks comes after 34 hours. */
const RETRY_SECONDS_MAX = 172_800;

/** What Mailwright sets itself. */
const OURS =
  /^(?:host|connection|content-length|content-encoding|transfer-encoding|upgrade|expect|te|trailer|keep-alive|proxy-.*|x-service-.*|webhook-.*)$/i;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

const headers = z
  .record(
    z
      .string()
      .regex(HEADER_NAME, 'must be the name of a header')
      .refine((name) => !OURS.test(name), 'must be left out: Mailwright sets it itself'),
    z.string().max(HEADER_LENGTH_MAX).regex(HEADER_VALUE, 'must be one line of ASCII characters'),
  )
  .refine((all) => Object.keys(all).length <= HEADERS_MAX, `may have at most ${HEADERS_MAX} headers`);

/** Null restores the value that it has without any. */
function orDefault<Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>) {
  return schema.nullish().transform((given) => (given === null ? value : given));
}

const seconds = z.int().min(1).max(RETRY_SECONDS_MAX);

interface Schedule {
  readonly retryTimes: number | undefined;
  readonly retryAfterSeconds: number | undefined;
}
const LIFECYCLE_SCHEDULE = { retryTimes: 2, retryAfterSeconds: 900 };
/** Twelve tries in about three days (decision D93). */
const CUSTOMERS_SCHEDULE = { retryTimes: 11, retryAfterSeconds: 60 };

/** What was given, with the defaults of the kind in place of null; `isNew`: also in place of what is absent. */
export function scheduleOf(
  kind: WebhookKind,
  { retryTimes, retryAfterSeconds }: { readonly [Name in keyof Schedule]?: number | null | undefined },
  { isNew = false } = {},
): Schedule {
  const defaults = kind === 'lifecycle' ? LIFECYCLE_SCHEDULE : CUSTOMERS_SCHEDULE;
  const value = (given: number | null | undefined, usual: number): number | undefined =>
    given ?? (given === null || isNew ? usual : undefined);
  return {
    retryTimes: value(retryTimes, defaults.retryTimes),
    retryAfterSeconds: value(retryAfterSeconds, defaults.retryAfterSeconds),
  };
}

const fields = {
  name: singleLine(NAME_LENGTH_MAX),
  event: z.enum(webhookEventNames),
  url: singleLine(URL_LENGTH_MAX),
  method: orDefault(z.enum(webhookMethods), 'POST'),
  headers: orDefault(headers, {}),
  /** An empty one is none: the body is the payload. */
  bodyTemplate: multiLine(TEMPLATE_LENGTH_MAX)
    .nullish()
    .transform((given) => (given === '' ? null : given)),
  /** The defaults are those of its kind: `scheduleOf`. */
  retryTimes: z.int().min(0).max(RETRY_TIMES_MAX).nullish(),
  retryAfterSeconds: seconds.nullish(),
  retrySecondsMax: orDefault(seconds, RETRY_SECONDS_MAX),
  status: orDefault(z.enum(['active', 'inactive']), 'active'),
  withMachines: orDefault(z.boolean(), false),
};

const uid = z.string().max(UID_LENGTH_MAX).nullish();

export const createWebhookInput = z.object({
  ...fields,
  listUid: uid,
  campaignUid: uid,
  templateUid: uid,
  secret: z.string().min(SECRET_LENGTH_MIN).max(SECRET_LENGTH_MAX).regex(HEADER_VALUE).nullish(),
});
export const updateWebhookInput = z.object({
  ...fields,
  name: fields.name.optional(),
  event: fields.event.optional(),
  url: fields.url.optional(),
});

/** Words are checked, whatever they are. */
type WithWords<Input> = Omit<Input, 'event' | 'method' | 'status'> & {
  readonly event?: string | undefined;
  readonly method?: string | null | undefined;
  readonly status?: string | null | undefined;
};
export type CreateWebhookInput = WithWords<z.input<typeof createWebhookInput>>;
export type UpdateWebhookInput = WithWords<z.input<typeof updateWebhookInput>>;
export type Webhook = RowOfFields<typeof webhookColumns>;
export type WebhookValues = ValuesOf<typeof webhookFields>;
export type WebhookKey = Pick<Webhook, 'customerId' | 'id'>;
