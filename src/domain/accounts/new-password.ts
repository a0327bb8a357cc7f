/**
 * What a new password must be, wherever one is set: long enough and not one that everybody tries first. No rules
 * about kinds of characters: they make passwords worse (NIST SP 800-63B, 3.1.1.2).
 */
import { ValidationError } from '../../lib/errors.ts';
import { isOneLine } from '../../lib/text.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from './account-limits.ts';

/** Whose password it is going to be: what names the person is the second thing that is tried. */
export interface PasswordOwner {
  readonly email?: string | undefined;
  readonly names?: readonly (string | null | undefined)[];
}

const COMMON_MAX = 10_000;

/** Throws ValidationError on `field` when this must not become a password. */
export async function checkNewPassword(password: string, owner: PasswordOwner = {}, field = 'password'): Promise<void> {
  const faults = await faultsOfNewPassword(password, owner, field);
  if (faults.length > 0) throw new ValidationError({ [field]: faults });
}

/** The same as sentences (none: it may), for verbs that have more to find fault with. */
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
  if (isOwnName(password, owner)) return [`The ${label} must not be the email address or the name.`];
  if (await isCommon(password)) return [`The ${label} is one of the most used ones, which are tried first.`];
  return [];
}

function isOwnName(password: string, { email, names = [] }: PasswordOwner): boolean {
  const typed = password.toLowerCase();
  return [email, email?.split('@', 1)[0], ...names].some((name) => name?.trim().toLowerCase() === typed);
}

/** Loaded with the first password that is set (2 MB): most processes never set one. */
async function isCommon(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  // The most used first. No more of them: who has to try four times takes a worse one.
  return dictionary['passwords-common'].slice(0, COMMON_MAX).includes(password.toLowerCase());
}
