/**
 * Adds a person to a list: `subscribed` at once on a single opt-in list, `pending` with a confirmation mail on a double opt-in
 * one. A caller may also add somebody as `unsubscribed` or `unconfirmed`: then no mail is sent (D48). An address that is on the
 * list already is refused whatever its status, and whatever status is asked for: a person who unsubscribed comes back by
 * `subscribeSubscriber`, which asks for consent. A suppressed address is refused too.
 */
import { assert } from '../../lib/errors.ts';
import { InputFaults } from '../../lib/input-faults.ts';
import { checkInput, emailKey } from '../../lib/text.ts';
import { requireRunningPlan } from '../billing/plans/require-allowed.ts';
import { requireSubscribersLeft } from '../billing/plans/require-within-limit.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { sendConfirmation } from './confirmation.ts';
import { addressDigest, barOf } from './erasing/erased-person-store.ts';
import { checkFieldValues } from './field-values.ts';
import type { MailList } from './list-fields.ts';
import { fieldsOfList } from './list-field-store.ts';
import { enqueuePersonMail } from './mails/person-mail.ts';
import { lockOwnedList } from './find-owned-list.ts';
import { emailSuppressed, emailTaken, wrongFields } from './subscriber-errors.ts';
import {
  insertConsentEvent,
  insertSubscriber,
  rememberTags,
  startNoFlows,
  type NewSubscriber,
} from './subscriber-store.ts';
import { addSubscriberInput, type Subscriber } from './subscriber.ts';

export interface AddSubscriberInput {
  readonly listUid: string;
  readonly email: string;
  /** Values by tag; null or an empty text is no value. */
  readonly fieldValues?: Readonly<Record<string, unknown>> | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  /** `subscribed` (also when absent), `unsubscribed` or `unconfirmed`. */
  readonly status?: string | null | undefined;
  /** Where the person asked to be added from. */
  readonly ipAddress?: string | null | undefined;
  readonly ignoreUnknownFields?: boolean | null | undefined;
  /** False: by being added the person enters no automation (D72). */
  readonly runAutomations?: boolean | null | undefined;
}

/**
 * Adds a subscriber to the caller's list. Throws ValidationError (`EMAIL_TAKEN`, `EMAIL_SUPPRESSED`, fields by tag, `status`,
 * `ipAddress`, `PLAN_LIMIT_REACHED`), WrongStateError `SUBSCRIPTION_ENDED`,
 * NotFoundError `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function addSubscriber(ctx: Context, input: AddSubscriberInput): Promise<Subscriber> {
  return inTransaction(ctx, async (inner) => {
    const faults = new InputFaults();
    const list = await faults.gather(() => lockOwnedList(inner, input.listUid), 'listUid');
    const person = await faults.gather(() => checkPerson(inner, list, input));
    faults.check({ areMore: ctx.checksOnly });
    assert(list && person, 'a person without faults was not read');
    const key = emailKey(person.email);
    const digest = addressDigest(ctx.installation, key);
    // Erased and suppressed are answered alike: the caller need not know that the person existed.
    if (await barOf(inner.db, { customerId: list.customerId, emailKey: key, digest })) throw emailSuppressed();
    if (input.runAutomations === false) await startNoFlows(inner.tx);
    const isAsked = person.status === 'subscribed' && list.subscribeConfirmation;
    return insert(inner, list, { ...person, status: isAsked ? 'pending' : person.status, source: 'api' });
  });
}

/** Without a list nothing is known of its fields. */
async function checkPerson(ctx: TransactionContext, list: MailList | undefined, input: AddSubscriberInput) {
  const { email, status, ipAddress } = input;
  const person = checkInput(addSubscriberInput, { EMAIL: email, tags: input.tags ?? [], status, ipAddress });
  const options = { ignoreUnknown: input.ignoreUnknownFields ?? false, isNew: true };
  const fields = list ? await fieldsOfList(ctx.db, list) : [];
  const values = checkFieldValues(fields, list ? (input.fieldValues ?? {}) : {}, options);
  const errors = { ...person.errors, ...values.errors };
  if (!person.data || Object.keys(errors).length > 0) throw wrongFields(errors);
  const { EMAIL, ...checked } = person.data;
  return { ...checked, email: EMAIL, fields: values.set };
}

async function insert(ctx: TransactionContext, list: MailList, person: NewSubscriber): Promise<Subscriber> {
  const added = await insertSubscriber(ctx.db, list, person);
  if (!added) throw emailTaken();
  await requireSubscribersLeft(ctx.tx, { ...added, field: 'EMAIL' });
  // Usually the caller is a program, and only it knows where the person was.
  const by = { source: person.source, ipAddress: person.ipAddress ?? ctx.ipAddress };
  if (added.status === 'pending') {
    await requireRunningPlan(ctx.db, added.customerId);
    await sendConfirmation(ctx.db, added, by);
  } else {
    const eventId = await insertConsentEvent(ctx.db, added, { ...by, status: added.status });
    if (added.status === 'subscribed' && list.sendWelcomeEmail)
      await enqueuePersonMail(ctx.db, added, { kind: 'welcome', eventId });
  }
  await rememberTags(ctx.db, list, added.tags);
  return added;
}
