/**
 * Public sign-up (decision D10): no token, only for lists that allow it, always double opt-in. The answer reveals nothing about
 * who is on the list: every valid request is answered alike.
 */
import { ExpectedError, RateLimitedError } from '../../lib/errors.ts';
import { addressBlock } from '../../lib/address-block.ts';
import { sha256 } from '../../lib/crypto.ts';
import { checkInput, emailKey } from '../../lib/text.ts';
import { hasSubscribersLeft, requireSubscribersLeft } from '../billing/plans/require-within-limit.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { sendConfirmation } from './confirmation.ts';
import { addressDigest, barOf } from './erasing/erased-person-store.ts';
import { checkFieldValues } from './field-values.ts';
import { fieldsOfList } from './list-field-store.ts';
import type { MailList } from './list-fields.ts';
import { lockPublicList } from './find-owned-list.ts';
import { captchaInput, takeCaptcha } from './sign-up-captcha.ts';
import { takeSignUp } from './sign-up-store.ts';
import { listFull, wrongFields } from './subscriber-errors.ts';
import { memberWithAddress } from './subscriber-read-model.ts';
import { insertSubscriber, lockSubscriber, writeSubscriber } from './subscriber-store.ts';
import { signUpInput } from './subscriber.ts';

export interface SignUpInput {
  readonly listUid: string;
  readonly email: string;
  /** Values by tag; values of fields that the list does not show are ignored. */
  readonly fieldValues?: Readonly<Record<string, unknown>> | null | undefined;
  /** An invisible field that robots fill in: then nothing happens, and the answer is the same. */
  readonly trap?: string | null | undefined;
  /** The answer to a challenge (sign-up-captcha.ts), where the list needs one. */
  readonly captcha?: string | null | undefined;
}

export interface SignedUp {
  readonly message: string;
  /** Given names that are no field of the list. */
  readonly ignoredFields: readonly string[];
}

/** The same for every result. */
export const SIGN_UP_MESSAGE = 'Please check your mailbox and confirm.';

/** Enough for a family or an office with one address; robots try more. */
const TRIES_MAX = 20;
const TRIES_PER_SECOND = TRIES_MAX / 3_600;
const RETRY_SECONDS = Math.ceil(1 / TRIES_PER_SECOND);
const BY = 'form';
const formInput = signUpInput.extend({ captcha: captchaInput.nullish() });

/**
 * Takes a sign-up: a person who is new, or on the list without consent, is asked by mail. Throws NotFoundError `LIST_NOT_FOUND`
 * (also for a list without public sign-up), ValidationError on EMAIL, the tags and
 * `captcha` (`CAPTCHA_REQUIRED`), RateLimitedError.
 */
export async function signUp(ctx: Context, input: SignUpInput): Promise<SignedUp> {
  await refuseTooMany(ctx);
  const ignoredFields = await inTransaction(ctx, async (inner) => {
    const list = await lockPublicList(inner, input.listUid);
    const person = await checkPerson(inner, list, input);
    if (input.trap?.trim()) return person.unknown;
    await takeCaptcha(inner, list, input.captcha);
    await take(inner, list, person);
    return person.unknown;
  }).catch((error: unknown) => {
    throw isPlanFull(error) ? listFull() : error;
  });
  return { message: SIGN_UP_MESSAGE, ignoredFields };
}

const REFUSED_BY_PLAN = ['PLAN_LIMIT_REACHED', 'SUBSCRIPTION_ENDED', 'SUBSCRIPTION_REQUIRED'];

/** Another transaction was faster: the same as if the plan had been full before. */
function isPlanFull(error: unknown): boolean {
  return error instanceof ExpectedError && REFUSED_BY_PLAN.includes(error.code);
}

async function checkPerson(ctx: TransactionContext, list: MailList, input: SignUpInput) {
  const person = checkInput(formInput, { EMAIL: input.email, captcha: input.captcha });
  const values = checkFieldValues(await fieldsOfList(ctx.db, list), input.fieldValues ?? {}, {
    ignoreUnknown: true,
    isNew: true,
    isPublic: true,
  });
  const errors = { ...person.errors, ...values.errors };
  if (!person.data || Object.keys(errors).length > 0) throw wrongFields(errors);
  return { email: person.data.EMAIL, fields: values.set, unknown: values.unknown };
}

async function take(
  ctx: TransactionContext,
  list: MailList,
  { email, fields }: { email: string; fields: Readonly<Record<string, string>> },
): Promise<void> {
  const { db, ipAddress } = ctx;
  // Before the person is looked up: a full plan answers everybody alike.
  if (!(await hasSubscribersLeft(db, { customerId: list.customerId, listId: list.id }))) throw listFull();
  const key = emailKey(email);
  const digest = addressDigest(ctx.installation, key);
  // A person who was erased may come back this way, because the person asks and confirms.
  if ((await barOf(db, { customerId: list.customerId, emailKey: key, digest })) === 'suppressed') return;
  const fresh = { email, fields, status: 'pending', source: BY, ipAddress, tags: [] } as const;
  const added = await insertSubscriber(db, list, fresh);
  if (added) await requireSubscribersLeft(ctx.tx, { ...added, field: 'EMAIL' });
  const asked = added ?? (await askAgain(ctx, list, key));
  if (asked) await sendConfirmation(db, asked, { source: BY, ipAddress });
}

/** A person who is on the list already is asked again if necessary. A stranger's input changes none of that person's data. */
async function askAgain({ db }: TransactionContext, list: MailList, key: string) {
  const found = await memberWithAddress(db, list, key);
  const person = found && (await lockSubscriber(db, found));
  if (!person || person.status === 'subscribed') return undefined;
  return writeSubscriber(db, person, { ...person, status: 'pending' }, true);
}

/** Counted per network block, as a digest: the address is not stored. */
async function refuseTooMany(ctx: Context): Promise<void> {
  const digest = sha256(`${ctx.installation.secret}:${addressBlock(ctx.ipAddress ?? '')}`)
    .toString('hex')
    .slice(0, 32);
  if (!(await takeSignUp(ctx.database, digest, { triesMax: TRIES_MAX, triesPerSecond: TRIES_PER_SECOND })))
    throw new RateLimitedError(
      'TOO_MANY_SIGN_UPS',
      'Too many sign-ups from here. Please try again later.',
      RETRY_SECONDS,
    );
}
