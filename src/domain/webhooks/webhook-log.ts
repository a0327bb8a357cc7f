/** Reading the log of a webhook, and sending again what is in it: administrators only. */
import { isUid } from '../../lib/ids.ts';
import { inTransaction, type Context } from '../context.ts';
import { resendDeliveries, type DeliveryState } from './delivery-store.ts';
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

/** In one call: a second's work for the database. The answer says whether more are left. */
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
    const resent = await resendDeliveries(inner.db, { webhook, states, uid, from: null, to: null, max: 1 });
    if (resent === 0) throw deliveryWaits();
    return oneDelivery(inner, webhook, uid);
  });
}

/** How many are sent again; `areMore`: call again for the others. */
export interface Resent {
  readonly count: number;
  readonly areMore: boolean;
}

/** Sends those in one state (absent: failed and parked ones) of a time again. Throws WrongStateError `WEBHOOK_NOT_ACTIVE`, NotFoundError, ForbiddenError. */
export async function resendRange(
  ctx: Context,
  { webhookUid, state, from = null, to = null }: DeliveryFilter & { readonly webhookUid: string },
): Promise<Resent> {
  return inTransaction(ctx, async (inner) => {
    const webhook = await activeWebhook(inner, webhookUid);
    const states: readonly DeliveryState[] = state ? [state] : ['failed', 'parked'];
    if (states.includes('waiting')) throw deliveryWaits();
    const count = await resendDeliveries(inner.db, { webhook, states, uid: null, from, to, max: RESENT_AT_ONCE_MAX });
    return { count, areMore: count === RESENT_AT_ONCE_MAX };
  });
}

async function activeWebhook(ctx: Context, uid: string) {
  const webhook = await findWebhook(ctx, uid, { lock: true });
  if (webhook.status !== 'active') throw webhookNotActive(webhook.status);
  return webhook;
}
