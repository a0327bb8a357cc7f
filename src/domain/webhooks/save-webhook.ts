/** Making and changing webhooks: of the installation by administrators, others by their customer. */
import { z } from 'zod';
import { newUid } from '../../lib/ids.ts';
import { ValidationError } from '../../lib/errors.ts';
import { InputFaults } from '../../lib/input-faults.ts';
import { parseInput } from '../../lib/text.ts';
import { requireAdministrator } from '../billing/billing-rights.ts';
import { requirePreparing } from '../billing/plans/require-allowed.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { checkBodyTemplate } from './body-template.ts';
import { findWebhook } from './find-webhook.ts';
import { hideHeaders, refuseHidden, restoreHidden } from './hidden-headers.ts';
import { moveWaiting } from './move-waiting.ts';
import { tooManyWebhooks } from './webhook-errors.ts';
import { isWebhookEvent, kindOfEvent, type WebhookEvent, type WebhookKind } from './webhook-events.ts';
import { webhookScope } from './webhook-scope.ts';
import { newWebhookSecret, sealWebhookSecret } from './webhook-secret.ts';
import {
  lockAndCountWebhooks,
  deleteWebhookRow,
  insertWebhook,
  ownerOfLifecycle,
  updateWebhookRow,
} from './webhook-store.ts';
import { webhookTarget } from './webhook-target.ts';
import {
  createWebhookInput,
  LIFECYCLE_WEBHOOKS_MAX,
  scheduleOf,
  updateWebhookInput,
  WEBHOOKS_PER_CUSTOMER_MAX,
  type CreateWebhookInput,
  type UpdateWebhookInput,
  type Webhook,
} from './webhook.ts';

/** A webhook with its secret, which is answered only now. */
export interface NewSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** The secret before signs, too, as long: receivers have time to change theirs. */
const PREVIOUS_SECRET_HOURS = 24;
const HOUR_MS = 3_600_000;

/**
 * Makes a webhook. Without a secret one is made. Throws ValidationError; `TOO_MANY_WEBHOOKS`, ForbiddenError, WrongStateError
 * `SUBSCRIPTION_REQUIRED`, `SUBSCRIPTION_ENDED`.
 */
export async function createWebhook(ctx: Context, input: CreateWebhookInput): Promise<NewSecret> {
  const kind = input.event !== undefined && isWebhookEvent(input.event) ? kindOfEvent(input.event) : undefined;
  // Of what no administrator may do, nothing else is said.
  if (kind === 'lifecycle') requireAdministrator(ctx);
  const faults = new InputFaults();
  const scope = kind && (await webhookScope(ctx, { kind, input, faults }));
  const {
    listUid: _list,
    campaignUid: _campaign,
    templateUid: _template,
    secret: given,
    ...wanted
  } = await checked(ctx, {
    ...{ faults, read: () => faults.read(createWebhookInput, input) },
    given: { url: input.url, bodyTemplate: input.bodyTemplate },
  });
  if (!kind) throw new Error('A wrong event was not refused.');
  const own = viewerOf(ctx).customerId;
  const customerId = kind === 'lifecycle' ? await ownerOfLifecycle(ctx.db, own) : own;
  const max = kind === 'lifecycle' ? LIFECYCLE_WEBHOOKS_MAX : WEBHOOKS_PER_CUSTOMER_MAX;
  const uid = newUid();
  const headers = restoreHidden(wanted.headers ?? {}, {});
  const secret = given ?? newWebhookSecret();
  const schedule = scheduleOf(kind, wanted, { isNew: true });
  return inTransaction(ctx, async ({ db, installation }) => {
    if (kind !== 'lifecycle') await requirePreparing(db, customerId);
    if ((await lockAndCountWebhooks(db, customerId, kind)) >= max) throw tooManyWebhooks(max);
    const sealedSecret = sealWebhookSecret(installation.secret, uid, secret);
    const values = { customerId, uid, kind, ...scope, ...wanted, headers, ...schedule, sealedSecret };
    return { webhook: await insertWebhook(db, values), secret };
  });
}

/**
 * Changes the given values; null restores a default. `active` ends a pause, `inactive` keeps what waits for a resend by hand. Headers with
 * hidden values do not go along to another server: they have to be given anew. Throws ValidationError, NotFoundError, ForbiddenError.
 */
export async function updateWebhook(
  ctx: Context,
  { uid, ...input }: UpdateWebhookInput & { readonly uid: string },
): Promise<Webhook> {
  const { event, kind } = await findWebhook(ctx, uid);
  const faults = new InputFaults();
  faults.catch(() => refuseOtherKind(kind, input.event));
  const wanted = await checked(ctx, {
    ...{ faults, read: () => faults.read(updateWebhookInput, input) },
    given: { ...input, event },
  });
  return inTransaction(ctx, async (inner) => {
    const webhook = await findWebhook(inner, uid, { lock: true });
    const { status } = wanted;
    const isMoved = 'receiver' in wanted && wanted.receiver !== webhook.receiver;
    if (isMoved) refuseHidden(wanted.headers ?? hideHeaders(webhook.headers));
    const headers = wanted.headers && restoreHidden(wanted.headers, webhook.headers);
    const ended = status === 'active' ? { pauseReason: null, pausedAt: null, failingSince: null } : {};
    await updateWebhookRow(inner.db, webhook, { ...wanted, headers, ...scheduleOf(kind, wanted), ...ended });
    if (status === 'inactive' || isMoved) await moveWaiting(inner.db, webhook);
    return findWebhook(inner, uid);
  });
}

/** Deletes the webhook; what waits is not sent. Throws NotFoundError, ForbiddenError. */
export async function deleteWebhook(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const webhook = await findWebhook(inner, uid, { lock: true });
    await deleteWebhookRow(inner.db, webhook);
    await moveWaiting(inner.db, webhook);
    return { uid };
  });
}

/** Hours for which the secret before signs as well; 0: somebody else knows it. */
export const previousSecretHoursInput = z.int().min(0).max(168);

/**
 * Gives the webhook another secret. The one before signs as well for some hours (24); one before that does not any more. Throws
 * NotFoundError, ForbiddenError.
 */
export async function rotateWebhookSecret(
  ctx: Context,
  { uid, previousSecretHours }: { readonly uid: string; readonly previousSecretHours?: number | null | undefined },
): Promise<NewSecret> {
  const secret = newWebhookSecret();
  const { previousSecretHours: hours } = parseInput(z.object({ previousSecretHours: previousSecretHoursInput }), {
    previousSecretHours: previousSecretHours ?? PREVIOUS_SECRET_HOURS,
  });
  return inTransaction(ctx, async (inner) => {
    const webhook = await findWebhook(inner, uid, { lock: true });
    await updateWebhookRow(inner.db, webhook, {
      sealedSecret: sealWebhookSecret(inner.installation.secret, uid, secret),
      sealedPreviousSecret: hours === 0 ? null : webhook.sealedSecret,
      previousSecretEndsAt: hours === 0 ? null : new Date(ctx.clock.now().getTime() + hours * HOUR_MS),
    });
    return { webhook: await findWebhook(inner, uid), secret };
  });
}

function refuseOtherKind(kind: WebhookKind, event: string | undefined): void {
  if (event === undefined || !isWebhookEvent(event) || kindOfEvent(event) === kind) return;
  throw new ValidationError({ event: ['Make another webhook for an event of another kind.'] }, 'WEBHOOK_SCOPE_REFUSED');
}

interface Checking<Wanted> {
  readonly faults: InputFaults;
  readonly read: () => Wanted | undefined;
  /** `event`: that of the webhook until now. */
  readonly given: Pick<UpdateWebhookInput, 'url' | 'bodyTemplate'> & { readonly event?: WebhookEvent };
}

/** The input with its target; all faults are thrown together. */
async function checked<Wanted extends { readonly event?: WebhookEvent | undefined }>(
  ctx: Context,
  { faults, read, given: { url, bodyTemplate, event } }: Checking<Wanted>,
) {
  const wanted = read();
  // An empty one is a fault of the field already.
  const target = !url ? {} : await faults.gather(() => webhookTarget(ctx, url));
  const meant = wanted?.event ?? event;
  const { customerId } = viewerOf(ctx);
  if (bodyTemplate && meant) await faults.gather(() => checkBodyTemplate(bodyTemplate, { event: meant, customerId }));
  faults.check();
  if (!wanted || !target) throw new Error('Faults were lost.');
  return { ...wanted, ...target };
}
