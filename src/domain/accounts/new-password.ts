/**
 * The rules of a new password: long enough and not a common one. No rules about kinds of characters: they make passwords worse
 * (NIST SP 800-63B, 3.1.1.2).
 */
import { z } from 'zod';
import type { Queryable } from '../../db/database.ts';
import { ValidationError } from '../../lib/errors.ts';
import { isOneLine } from '../../lib/text.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from './account-limits.ts';
import type { UserKey } from './api-token-store.ts';
import { verifyPassword } from './password.ts';
import { findUser } from './user-store.ts';

/** The owner of the new password: attackers try names of the person early. */
export interface PasswordOwner {
  readonly email?: string | undefined;
  /** Names of the person and of the customer. */
  readonly names?: readonly (string | null | undefined)[];
  /** The present password, if it was typed. */
  readonly oldPassword?: string | undefined;
  /** The hash of the present password. */
  readonly oldHash?: string | undefined;
}

const COMMON_MAX = 10_000;
const PRODUCT_NAME = 'mailwright';
/** A shorter name with additions is no longer the name: `ann` and eight further characters. */
const CORE_LENGTH_MIN = 4;

/** What a new password of this user is compared with. */
export async function ownerOfPassword(
  db: Queryable,
  key: UserKey,
): Promise<PasswordOwner & { readonly email: string; readonly names: readonly string[] }> {
  const user = await findUser(db, key);
  if (!user) return { email: '', names: [] };
  const { email, firstName, lastName, customerName, passwordHash } = user;
  return { email, names: [firstName, lastName, firstName + lastName, customerName], oldHash: passwordHash };
}

/** Of a new password; more rules are in `checkNewPassword`. */
export const newPasswordInput = z
  .string()
  .describe(`From ${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX} characters.`);

/** Throws ValidationError on `field` when this must not be a password. */
export async function checkNewPassword(password: string, owner: PasswordOwner = {}, field = 'password'): Promise<void> {
  const faults = await faultsOfNewPassword(password, owner, field);
  if (faults.length > 0) throw new ValidationError({ [field]: faults });
}

/** The same as sentences (none: it is allowed), for verbs that find further faults. */
export async function faultsOfNewPassword(
  password: string,
  owner: PasswordOwner = {},
  field = 'password',
): Promise<readonly string[]> {
  const label = field.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  if (password === '') return [`The ${label} field is required.`];
  const length = [...password.slice(0, 4 * PASSWORD_LENGTH_MAX)].length;
  if (length < PASSWORD_LENGTH_MIN) return [`The ${label} must be at least ${PASSWORD_LENGTH_MIN} characters.`];
  if (length > PASSWORD_LENGTH_MAX) return [`The ${label} may not be greater than ${PASSWORD_LENGTH_MAX} characters.`];
  if (!isOneLine(password)) return [`The ${label} must not contain control characters.`];
  if (/^\s*$/u.test(password)) return [`The ${label} must not consist of spaces only.`];
  if (isName(password, owner))
    return [`The ${label} must not be a name, the email address or the name of the product.`];
  if (await isOld(password, owner)) return [`The ${label} must differ from the old one by more than case or digits.`];
  if (await isCommon(password)) return [`The ${label} is one of the most used passwords, which are tried first.`];
  return [];
}

function isName(password: string, { email, names = [] }: PasswordOwner): boolean {
  const all = [PRODUCT_NAME, email, email?.split('@', 1)[0], ...names];
  return all.some((name) => typeof name === 'string' && isVariantOf(password, name));
}

/** Whether it is the same apart from case, spaces, dots and hyphens, and digits and signs at its ends. */
function isVariantOf(password: string, word: string): boolean {
  const [plain, same] = [plainOf(password), plainOf(word)];
  if (same === '') return false;
  const core = coreOf(same);
  return plain === same || (core.length >= CORE_LENGTH_MIN && coreOf(plain) === core);
}

function plainOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s._-]/gu, '');
}

/** Without what people append when they are asked for another one. */
function coreOf(plain: string): string {
  const letters = plain.match(/\p{L}/gu) ?? [];
  const [first, last] = [letters[0], letters.at(-1)];
  return first && last ? plain.slice(plain.indexOf(first), plain.lastIndexOf(last) + last.length) : '';
}

/** Only a hash of the old one is stored: if it was not typed, only exactly the same is refused. */
async function isOld(password: string, { oldPassword, oldHash }: PasswordOwner): Promise<boolean> {
  if (oldPassword !== undefined) return password === oldPassword || isVariantOf(password, oldPassword);
  return oldHash !== undefined && (await verifyPassword(password, oldHash));
}

/** Loaded when the first password is set (2 MB): most processes never set one. */
async function isCommon(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  // The most used first. No more than these: people who are refused too often choose worse ones.
  return dictionary['passwords-common'].slice(0, COMMON_MAX).includes(password.toLowerCase());
}
