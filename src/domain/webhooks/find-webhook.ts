/** Finds a lifecycle webhook by its uid: every administrator sees all of them. */
import { isUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import { requireAdministrator } from '../billing/billing-rights.ts';
import { webhookNotFound } from './webhook-errors.ts';
import { findLifecycleWebhook } from './webhook-store.ts';
import type { Webhook } from './webhook.ts';

/** Throws NotFoundError `WEBHOOK_NOT_FOUND`, ForbiddenError. */
export async function findWebhook(ctx: Context, uid: string, { lock = false } = {}): Promise<Webhook> {
  requireAdministrator(ctx);
  const webhook = isUid(uid) ? await findLifecycleWebhook(ctx.db, uid, lock) : undefined;
  if (!webhook) throw webhookNotFound();
  return webhook;
}
