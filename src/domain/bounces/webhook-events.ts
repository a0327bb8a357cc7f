/**
 * Takes vendors' events about messages. The request is answered when its events are in the queue, in the transaction that records
 * their ids; a job then finds the messages. A vendor may be faster than the sending loop, which records the vendor's id with its
 * next commit: so an unknown id is looked up again for up to five seconds.
 */
import { z } from 'zod';
import { databaseNow } from '../../db/now.ts';
import { takeWebhookEventsJob } from '../../jobs/bounce-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { sha256 } from '../../lib/crypto.ts';
import type { WebhookEvent } from '../../plugin-api/index.ts';
import { inTransaction, type Context } from '../context.ts';
import { isSystemServer } from '../sending/sending-server-read-model.ts';
import type { DeliveryKey } from '../source-key.ts';
import { messageIdOfKey, parseDeliveryMessageId } from '../tracking/delivery-message-id.ts';
import { deliveriesNamed } from '../tracking/record-delivery-report.ts';
import { REPORT_WORD_LENGTH_MAX, type ReportedOutcome } from '../tracking/delivery-report.ts';
import { recordArrivals } from '../tracking/record-arrivals.ts';
import { reportOnDelivery } from '../tracking/report-on-delivery.ts';
import { unsubscribeByVendor } from '../tracking/unsubscribe-recipient.ts';
import { classifyBounce } from './classify-bounce.ts';
import { oneLine } from './one-line.ts';
import { noteReport } from './report-source-store.ts';
import type { KeptRequest } from './vendor-request.ts';
import { insertVendorRequests, type RequestOwner } from './vendor-request-store.ts';
import { insertWebhookEvents, type WebhookSource } from './webhook-event-store.ts';

/** Specification 4.13. */
const LOOK_UP_MS_MAX = 5_000;
const LOOK_UP_AGAIN_SECONDS = 0.5;
/** Vendors send a few hundred at most. */
const WEBHOOK_EVENTS_MAX = 5_000;
const EVENTS_PER_JOB = 100;
const ID_LENGTH_MAX = 998;
const KEY_BYTES = 16;

const text = z.string().transform(oneLine);
// The queue's JSON cannot contain a NUL, and no message of ours has one in its name.
const name = z
  .string()
  .max(ID_LENGTH_MAX)
  .transform((value) => value.replaceAll('\0', ''));
const named = { id: name, messageId: name.pipe(z.string().min(1)), ownId: name.optional() };
/** Drivers' results are checked like all input. */
const messageEvent = z.discriminatedUnion('kind', [
  z.object({ ...named, kind: z.literal('delivered') }),
  z.object({
    ...named,
    kind: z.literal('bounced'),
    bounceType: z.enum(['hard', 'soft', 'blocked', 'unclear']),
    statusCode: z
      .string()
      .regex(/^[245]\.\d{1,3}\.\d{1,3}$/)
      .optional()
      .catch(undefined),
    description: text.optional(),
  }),
  z.object({ ...named, kind: z.literal('complained'), feedbackType: text.optional(), description: text.optional() }),
  z.object({ ...named, kind: z.literal('unsubscribed') }),
]);
export type MessageEvent = z.output<typeof messageEvent>;

export interface TakenEvents {
  readonly taken: number;
  /** Their ids are recorded already. */
  readonly repeated: number;
}

/** A driver's events, without ignored ones. Throws when they are invalid or too many. */
export function checkWebhookEvents(events: readonly WebhookEvent[]): MessageEvent[] {
  if (events.length > WEBHOOK_EVENTS_MAX) throw new Error(`more than ${WEBHOOK_EVENTS_MAX} events`);
  return events.filter((event) => event.kind !== 'ignored').map((event) => messageEvent.parse(event));
}

export interface PostedEvents {
  readonly events: readonly MessageEvent[];
  /** To keep: the requests that they came with. */
  readonly requests: readonly KeptRequest[];
  /** The vendor itself, just now, with something that could be read. */
  readonly hasReported: boolean;
}

/** Enqueues new events and keeps their requests, and notes that the operator's vendor has reported. */
export async function enqueueWebhookEvents(
  ctx: Context,
  { customerId, serverId, type, uid, isSystem }: RequestOwner,
  { events: given, requests, hasReported }: PostedEvents,
): Promise<TakenEvents> {
  const source = { customerId, serverId };
  const byKey = new Map(given.map((event) => [keyOf(event).toString('hex'), event]));
  const taken = await inTransaction(ctx, async (inner) => {
    await insertVendorRequests(inner.db, { ...source, type, uid, isSystem }, requests);
    const { fresh: keys, now } = await insertWebhookEvents(inner.db, source, [...byKey.values()].map(keyOf));
    const fresh = keys.flatMap((key) => byKey.get(key.toString('hex')) ?? []);
    for (let at = 0; at < fresh.length; at += EVENTS_PER_JOB) {
      await enqueueLookUp(inner, { ...source, receivedAt: now.getTime() }, fresh.slice(at, at + EVENTS_PER_JOB));
    }
    return fresh.length;
  });
  const isComplaint = given.some(({ kind }) => kind === 'complained');
  if (isSystem && hasReported) await noteReport(ctx.db, { kind: 'webhook', uid }, isComplaint);
  return { taken, repeated: given.length - taken };
}

function keyOf(event: MessageEvent): Buffer {
  // A vendor without event ids repeats the same event about the same message.
  const name =
    event.id === ''
      ? JSON.stringify([event.kind, event.messageId, 'bounceType' in event && event.bounceType])
      : `id ${event.id}`;
  return sha256(name).subarray(0, KEY_BYTES);
}

interface LookUp extends WebhookSource {
  /** Milliseconds since 1970 by the database's clock. */
  readonly receivedAt: number;
}

function enqueueLookUp(
  { db }: Pick<Context, 'db'>,
  { customerId, serverId, receivedAt }: LookUp,
  events: readonly unknown[],
  delaySeconds = 0,
): Promise<void> {
  const payload = { customerId: String(customerId), serverId: String(serverId), receivedAt, events: [...events] };
  return enqueue(db, takeWebhookEventsJob, payload, { delaySeconds });
}

/** Records events; those whose messages are not known yet are tried again in another job while there is time. */
export async function takeWebhookEvents(
  ctx: Context,
  { events, ...lookUp }: LookUp & { events: readonly unknown[] },
): Promise<void> {
  const isSystem = await isSystemServer(ctx.db, lookUp);
  if (isSystem === undefined) return;
  // Before recording: on a busy database a hundred events take longer than the time that is left.
  const ageMs = (await databaseNow(ctx.db)).getTime() - lookUp.receivedAt;
  // The operator's servers send for all customers, a customer's for itself.
  const onlyOf = isSystem ? undefined : lookUp.customerId;
  const unknown: MessageEvent[] = [];
  for (const event of await withoutArrived(ctx, z.array(messageEvent).parse(events), onlyOf))
    if (!(await record(ctx, event, onlyOf))) unknown.push(event);
  if (unknown.length === 0) return;
  if (ageMs < LOOK_UP_MS_MAX) await enqueueLookUp(ctx, lookUp, unknown, LOOK_UP_AGAIN_SECONDS);
  else ctx.log.warn('webhook.unknown_messages', { serverId: lookUp.serverId, events: unknown.length });
}

/** Records together what has arrived by our own id, and returns the other events. */
async function withoutArrived(
  ctx: Context,
  events: readonly MessageEvent[],
  onlyOf: bigint | undefined,
): Promise<readonly MessageEvent[]> {
  const arrived = events.flatMap((event) => {
    const key = event.kind === 'delivered' ? ownDelivery(ctx, event) : undefined;
    return key && (onlyOf === undefined || key.customerId === onlyOf) ? [{ event, key }] : [];
  });
  const done = await recordArrivals(
    ctx,
    arrived.map(({ key }) => key),
  );
  const recorded = new Set(arrived.filter((_, place) => done.has(place)).map(({ event }) => event));
  return events.filter((event) => !recorded.has(event));
}

/** The delivery of our own id, where the vendor has returned it. */
function ownDelivery({ installation }: Context, { ownId }: MessageEvent): DeliveryKey | undefined {
  return ownId === undefined ? undefined : parseDeliveryMessageId(installation, messageIdOfKey(ownId));
}

/** False: there is no such message yet. */
async function record(ctx: Context, event: MessageEvent, onlyOf: bigint | undefined): Promise<boolean> {
  const own = ownDelivery(ctx, event);
  const isDone = own && (await recordAmong(ctx, event, [own], onlyOf));
  return isDone ?? (await recordAmong(ctx, event, await deliveriesNamed(ctx, event.messageId), onlyOf)) ?? false;
}

/** Undefined: none of them is there, or the server may not speak of it. False: it was not sent yet. */
async function recordAmong(
  ctx: Context,
  event: MessageEvent,
  keys: readonly DeliveryKey[],
  onlyOf: bigint | undefined,
): Promise<boolean | undefined> {
  for (const key of keys) {
    if (onlyOf !== undefined && key.customerId !== onlyOf) continue;
    const outcome =
      event.kind === 'unsubscribed'
        ? await unsubscribeByVendor(ctx, key)
        : await reportOnDelivery(ctx, key, reportedOutcomeOf(event));
    if (outcome !== 'not found') return outcome !== 'not sent';
  }
  return undefined;
}

function reportedOutcomeOf(event: Exclude<MessageEvent, { kind: 'unsubscribed' }>): ReportedOutcome {
  switch (event.kind) {
    case 'delivered':
      return { kind: 'arrived' };
    case 'bounced':
      return {
        kind: 'bounce',
        type:
          event.bounceType === 'unclear'
            ? classifyBounce({ status: event.statusCode ?? null, text: event.description ?? '' })
            : event.bounceType,
        statusCode: event.statusCode ?? null,
        message: event.description || null,
      };
    case 'complained':
      return {
        kind: 'complaint',
        type: event.feedbackType?.slice(0, REPORT_WORD_LENGTH_MAX) || 'abuse',
        message: event.description || null,
      };
  }
}
