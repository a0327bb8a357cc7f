/** Changes a subscriber's address, field values, tags (added to the existing ones) and status; absent values stay. */
import { checkInput, emailKey } from '../../lib/text.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { addressDigest, barOf } from './erasing/erased-person-store.ts';
import { checkFieldValues } from './field-values.ts';
import { findSubscriber } from './find-subscriber.ts';
import { fieldsOfList } from './list-field-store.ts';
import { lockList } from './list-store.ts';
import { emailSuppressed, emailTaken, subscriberNotFound, tooManyTags, wrongFields } from './subscriber-errors.ts';
import {
  insertConsentEvent,
  lockForNewAddress,
  lockSubscriber,
  rememberTags,
  writeSubscriber,
  type SubscriberChange,
} from './subscriber-store.ts';
import { distinctTags, TAGS_MAX, updateSubscriberInput, type Subscriber, type SubscriberRef } from './subscriber.ts';
import { endUndoOf } from './undo-store.ts';

export interface UpdateSubscriberInput extends SubscriberRef {
  readonly email?: string | null | undefined;
  readonly fieldValues?: Readonly<Record<string, unknown>> | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly status?: string | null | undefined;
  readonly ignoreUnknownFields?: boolean | null | undefined;
}

/**
 * Updates the caller's subscriber. Throws ValidationError (`EMAIL_TAKEN`, `EMAIL_SUPPRESSED`, `TOO_MANY_TAGS`, fields by tag),
 * NotFoundError `SUBSCRIBER_NOT_FOUND`, ForeignResourceError.
 */
export async function updateSubscriber(ctx: Context, input: UpdateSubscriberInput): Promise<Subscriber> {
  const found = await findSubscriber(ctx, input);
  return inTransaction(ctx, async (inner) => {
    // Erasing a person locks the lists: the address is checked before or after that, never in between.
    const isNewAddress = typeof input.email === 'string' && input.email !== found.email;
    if (isNewAddress) await lockList(inner.db, found);
    const subscriber = isNewAddress
      ? await lockForNewAddress(inner.db, found, emailKey(input.email.trim()))
      : await lockSubscriber(inner.db, found);
    if (!subscriber) throw subscriberNotFound();
    const change = await checkChange(inner, subscriber, input);
    await refuseBarred(inner, subscriber, change.email);
    const updated = await writeSubscriber(inner.db, subscriber, change);
    await rememberTags(
      inner.db,
      { customerId: subscriber.customerId, id: subscriber.listId },
      input.tags ? change.tags : [],
    );
    if (updated.status !== subscriber.status) {
      await insertConsentEvent(inner.db, updated, { status: updated.status, source: 'api', ipAddress: ctx.ipAddress });
    } else if (input.status === 'unsubscribed') {
      await endUndoOf(inner.db, updated, { source: 'api', ipAddress: ctx.ipAddress });
    }
    return updated;
  }).catch((error: unknown) => {
    throw takenOr(error);
  });
}

/** Another address is another person, who may be suppressed or erased. */
async function refuseBarred(ctx: TransactionContext, subscriber: Subscriber, email: string): Promise<void> {
  const key = emailKey(email);
  if (key === emailKey(subscriber.email)) return;
  const digest = addressDigest(ctx.installation, key);
  if (await barOf(ctx.db, { customerId: subscriber.customerId, emailKey: key, digest })) throw emailSuppressed();
}

async function checkChange(
  ctx: TransactionContext,
  subscriber: Subscriber,
  input: UpdateSubscriberInput,
): Promise<SubscriberChange> {
  const { email, tags, status } = input;
  const parsed = checkInput(updateSubscriberInput, {
    EMAIL: email ?? undefined,
    tags: tags ?? undefined,
    status: status ?? undefined,
  });
  const fields = await fieldsOfList(ctx.db, { customerId: subscriber.customerId, id: subscriber.listId });
  const options = { ignoreUnknown: input.ignoreUnknownFields ?? false, isNew: false };
  const values = checkFieldValues(fields, input.fieldValues ?? {}, options);
  const errors = { ...parsed.errors, ...values.errors };
  if (!parsed.data || Object.keys(errors).length > 0) throw wrongFields(errors);
  const merged = distinctTags([...subscriber.tags, ...(parsed.data.tags ?? [])]);
  if (merged.length > TAGS_MAX) throw tooManyTags(TAGS_MAX);
  return {
    email: parsed.data.EMAIL ?? subscriber.email,
    status: parsed.data.status ?? subscriber.status,
    fields: { ...without(subscriber.fields, values.cleared), ...values.set },
    tags: merged,
  };
}

/** The unique index decides, also between concurrent callers. */
function takenOr(error: unknown): unknown {
  const isDuplicate = error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
  return isDuplicate ? emailTaken() : error;
}

/** SQLSTATE, PostgreSQL's appendix A. */
const UNIQUE_VIOLATION = '23505';

function without(fields: Readonly<Record<string, string>>, cleared: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([tag]) => !cleared.includes(tag)));
}
