/**
 * Adds a person to a list: `subscribed` at once on a single opt-in list, `pending` with a confirmation mail on a double opt-in
 * one. An address that is on the list already is refused whatever its status: a person who unsubscribed comes back by
 * `subscribeSubscriber`, which asks for consent. A suppressed address is refused too.
 */
import { checkInput, emailKey } from '../../lib/text.ts';
import { requireSubscribersLeft } from '../billing/require-within-limit.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { sendConfirmation } from './confirmation.ts';
import { addressDigest, barOf } from './erasing/erased-person-store.ts';
import { checkFieldValues } from './field-values.ts';
import type { MailList } from './list-fields.ts';
import { fieldsOfList } from './list-field-store.ts';
import { enqueuePersonMail } from './mails/person-mail.ts';
import { lockOwnedList } from './find-owned-list.ts';
import { emailSuppressed, emailTaken, wrongFields } from './subscriber-errors.ts';
import { insertConsentEvent, insertSubscriber, rememberTags, type NewSubscriber } from './subscriber-store.ts';
import { addSubscriberInput, type ConsentSource, type Subscriber } from './subscriber.ts';

export interface AddSubscriberInput {
  readonly listUid: string;
  readonly email: string;
  /** Values by tag; null or an empty text is no value. */
  readonly fieldValues?: Readonly<Record<string, unknown>> | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly ignoreUnknownFields?: boolean | null | undefined;
}

/**
 * Adds a subscriber to the caller's list. Throws ValidationError (`EMAIL_TAKEN`, `EMAIL_SUPPRESSED`, fields by tag,
 * `PLAN_LIMIT_REACHED`), WrongStateError `SUBSCRIPTION_ENDED`,
 * NotFoundError `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function addSubscriber(
  ctx: Context,
  input: AddSubscriberInput,
  source: ConsentSource = 'api',
): Promise<Subscriber> {
  return inTransaction(ctx, async (inner) => {
    const list = await lockOwnedList(inner, input.listUid);
    const person = await checkPerson(inner, list, input);
    const key = emailKey(person.email);
    const digest = addressDigest(ctx.installation, key);
    // Erased and suppressed are answered alike: the caller need not know that the person existed.
    if (await barOf(inner.db, { customerId: list.customerId, emailKey: key, digest })) throw emailSuppressed();
    const status = list.subscribeConfirmation ? 'pending' : 'subscribed';
    // Over the API the address is the caller's machine; only a form is sent by the person.
    const ipAddress = source === 'form' ? ctx.ipAddress : null;
    return insert(inner, list, { ...person, status, source, ipAddress });
  });
}

async function checkPerson(ctx: TransactionContext, list: MailList, input: AddSubscriberInput) {
  const person = checkInput(addSubscriberInput, { EMAIL: input.email, tags: input.tags ?? [] });
  const options = { ignoreUnknown: input.ignoreUnknownFields ?? false, isNew: true };
  const values = checkFieldValues(await fieldsOfList(ctx.db, list), input.fieldValues ?? {}, options);
  const errors = { ...person.errors, ...values.errors };
  if (!person.data || Object.keys(errors).length > 0) throw wrongFields(errors);
  return { email: person.data.EMAIL, tags: person.data.tags, fields: values.set };
}

async function insert(ctx: TransactionContext, list: MailList, person: NewSubscriber): Promise<Subscriber> {
  const added = await insertSubscriber(ctx.db, list, person);
  if (!added) throw emailTaken();
  await requireSubscribersLeft(ctx.tx, { ...added, field: 'EMAIL' });
  const by = { source: person.source, ipAddress: ctx.ipAddress };
  if (added.status === 'pending') await sendConfirmation(ctx.db, added, by);
  else {
    const eventId = await insertConsentEvent(ctx.db, added, { ...by, status: added.status });
    if (list.sendWelcomeEmail) await enqueuePersonMail(ctx.db, added, { kind: 'welcome', eventId });
  }
  await rememberTags(ctx.db, list, added.tags);
  return added;
}
