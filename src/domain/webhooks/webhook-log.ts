/** Reading the log of a webhook, and sending again what is in it: administrators only. */
import { z } from 'zod';
import { isUid } from '../../lib/ids.ts';
import { singleLine, parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { resendDeliveries, type DeliveryState, type Resent } from './delivery-store.ts';
import { findWebhook } from './find-webhook.ts';
import { deliveryWaits, webhookDeliveryNotFound, webhookNotActive } from './webhook-errors.ts';
import { countLoggedDeliveries, loggedDeliveries, type LoggedDelivery } from './webhook-log-read-model.ts';
import type { WebhookKey } from './webhook.ts';

export interface DeliveryFilter {
  readonly state?: DeliveryState | null | undefined;
  /** Deliveries of events from this time on. */
  readonly from?: Date | null | undefined;
  /** Of events before this time. */
  readonly to?: Date | null | undefined;
}

interface Window {
  readonly offset: number;
  readonly limit: number;
  readonly countedMax: number;
}

/** In one call: a second's work for the database. */
export const RESENT_AT_ONCE_MAX = 10_000;

/** A page of the deliveries, the newest first. Throws NotFoundError, ForbiddenError. */
export async function deliveryPage(
  ctx: Context,
  { webhookUid, state = null, from = null, to = null }: DeliveryFilter & { readonly webhookUid: string },
  { countedMax, ...window }: Window,
) {
  const webhook = await findWebhook(ctx, webhookUid);
  const question = { webhook, uid: null, state, from, to };
  const [nodes, total] = await Promise.all([
    loggedDeliveries(ctx.db, question, window),
    countLoggedDeliveries(ctx.db, question, countedMax),
  ]);
  return { nodes, total };
}

/** One delivery of the webhook. Throws NotFoundError `WEBHOOK_DELIVERY_NOT_FOUND`. */
export async function oneDelivery({ db }: Context, webhook: WebhookKey, uid: string): Promise<LoggedDelivery> {
  const question = { webhook, uid, state: null, from: null, to: null };
  const [delivery] = isUid(uid) ? await loggedDeliveries(db, question, { offset: 0, limit: 1 }) : [];
  if (!delivery) throw webhookDeliveryNotFound();
  return delivery;
}

/**
 * Sends one delivery again, with the bytes and the id that it had. Throws WrongStateError `WEBHOOK_NOT_ACTIVE`,
 * `WEBHOOK_DELIVERY_WAITS`; NotFoundError, ForbiddenError.
 */
export async function resendDelivery(
  ctx: Context,
  { webhookUid, uid }: { readonly webhookUid: string; readonly uid: string },
): Promise<LoggedDelivery> {
  return inTransaction(ctx, async (inner) => {
    const webhook = await activeWebhook(inner, webhookUid);
    const { isTest } = await oneDelivery(inner, webhook, uid);
    if (isTest) throw webhookDeliveryNotFound();
    const states = ['delivered', 'failed', 'parked'] as const;
    const { count } = await resendDeliveries(inner.db, { ...{ webhook, states, uid, max: 1 }, ...EVER });
    if (count === 0) throw deliveryWaits();
    return oneDelivery(inner, webhook, uid);
  });
}

/** Of a uid that comes back. */
export const lastUidInput = singleLine(64);

const EVER = { from: null, to: null, after: null } as const;

/** Of which deliveries; `after`: the uid of the last one of the call before. */
export interface ResendFilter extends DeliveryFilter {
  readonly webhookUid: string;
  readonly after?: string | null | undefined;
}

/**
 * Sends those in one state (absent: failed and parked ones) of a time again, in the order in which they were made. Throws WrongStateError
 * `WEBHOOK_NOT_ACTIVE`, `WEBHOOK_DELIVERY_WAITS`, NotFoundError (also of `after`), ForbiddenError.
 */
export async function resendRange(
  ctx: Context,
  { webhookUid, state, from = null, to = null, after = null }: ResendFilter,
): Promise<Resent> {
  parseInput(z.object({ after: lastUidInput.nullish() }), { after });
  return inTransaction(ctx, async (inner) => {
    const webhook = await activeWebhook(inner, webhookUid);
    const states: readonly DeliveryState[] = state ? [state] : ['failed', 'parked'];
    if (states.includes('waiting')) throw deliveryWaits();
    const last = after === null ? null : (await oneDelivery(inner, webhook, after)).id;
    const range = { from, to, after: last, max: RESENT_AT_ONCE_MAX };
    return resendDeliveries(inner.db, { webhook, states, uid: null, ...range });
  });
}

async function activeWebhook(ctx: Context, uid: string) {
  const webhook = await findWebhook(ctx, uid, { lock: true });
  if (webhook.status !== 'active') throw webhookNotActive(webhook.status);
  return webhook;
}
