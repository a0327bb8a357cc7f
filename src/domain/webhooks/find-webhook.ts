/** Finds a webhook by its uid: administrators see those of the installation, everybody those of the own customer. */
import { isUid } from '../../lib/ids.ts';
import { requireAdministrator } from '../billing/billing-rights.ts';
import { viewerOf, type Context } from '../context.ts';
import { foreignWebhook, webhookNotFound } from './webhook-errors.ts';
import { findWebhookByUid } from './webhook-store.ts';
import type { Webhook } from './webhook.ts';

/** Throws NotFoundError or ForeignResourceError `WEBHOOK_NOT_FOUND`; ForbiddenError for one of the installation. */
export async function findWebhook(ctx: Context, uid: string, { lock = false } = {}): Promise<Webhook> {
  const webhook = isUid(uid) ? await findWebhookByUid(ctx.db, uid, lock) : undefined;
  if (!webhook) throw webhookNotFound();
  if (webhook.kind === 'lifecycle') requireAdministrator(ctx);
  else if (webhook.customerId !== viewerOf(ctx).customerId) throw foreignWebhook();
  return webhook;
}
