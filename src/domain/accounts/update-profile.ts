/** What users change of themselves: names, time zone, address and password. The last two need the present password. */
import { InputFaults } from '../../lib/input-faults.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { emailTaken } from './account-errors.ts';
import { auditInTransaction } from './audit-trail.ts';
import { confirmPassword } from './confirm-password.ts';
import { isEmailConflict, writeUser } from './customer-store.ts';
import { changedCustomerInput } from './customer.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { checkNewPassword, ownerOfPassword } from './new-password.ts';
import { hashPassword } from './password.ts';
import { profileValues, type Change, type ChosenPicture } from './update-customer.ts';

export interface UpdateProfileInput {
  readonly firstName?: string | null | undefined;
  readonly lastName?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly email?: string | null | undefined;
  /** Needed with a new address: a stolen token must not be enough to take over the account. */
  readonly currentPassword?: string | null | undefined;
  /** The picture (`chooseOwnPicture`): its faults are told with the others. */
  readonly image?: Change<ChosenPicture>;
}

interface UserKey {
  readonly customerId: bigint;
  readonly userId: bigint;
}

const profile = changedCustomerInput.omit({ languageId: true });

/** Changes the given values. Throws ValidationError. */
export async function updateProfile(ctx: Context, input: UpdateProfileInput): Promise<UserKey> {
  const { customerId, userId, userUid } = viewerOf(ctx);
  const { currentPassword, email, image, ...names } = input;
  const faults = new InputFaults();
  const data = faults.readRight(profile, { ...names, ...(email ? { email } : {}) });
  const picture = await faults.gather(async () => image?.());
  if (email) await faults.gather(() => confirmPassword(ctx, currentPassword ?? '', 'currentPassword'));
  faults.check();
  const values = {
    ...profileValues(data),
    image: picture && picture.place,
    email: data.email,
    emailKey: data.email && emailKey(data.email),
  };
  await inTransaction(ctx, async (inner) => {
    await picture?.hold(inner.db);
    await writeUser(inner.db, { customerId, userId }, values);
    await auditInTransaction(inner, { customerId, targetUid: userUid });
  }).catch((error: unknown) => {
    throw isEmailConflict(error) ? emailTaken() : error;
  });
  return { customerId, userId };
}

/**
 * Sets a new password. Every other login of the user ends at once, with its open connections, and so do one-time links. Throws
 * ValidationError on `currentPassword` or `newPassword`; RateLimitedError after too many wrong ones.
 */
export async function changePassword(
  ctx: Context,
  { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
): Promise<UserKey> {
  const { customerId, userId, userUid, tokenId } = viewerOf(ctx);
  const owner = await ownerOfPassword(ctx.db, { customerId, userId });
  await checkNewPassword(newPassword, { ...owner, oldPassword: currentPassword }, 'newPassword');
  await confirmPassword(ctx, currentPassword, 'currentPassword');
  const passwordHash = await hashPassword(newPassword);
  await inTransaction(ctx, async (inner) => {
    await writeUser(inner.db, { customerId, userId }, { passwordHash });
    await endOtherLogins(inner.db, { customerId, userId, tokenId });
    await auditInTransaction(inner, { customerId, targetUid: userUid });
  });
  return { customerId, userId };
}
