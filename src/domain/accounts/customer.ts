/** Customers: their fields and rules. A customer is a tenant; its first user is the one it was created with. */
import { z } from 'zod';
import { emailAddress, optionalLine } from '../../lib/text.ts';
import { PERSON_NAME_LENGTH_MAX } from './account-limits.ts';

/** `deleting`: no longer visible, and being erased from the tables. */
export type CustomerStatus = 'active' | 'disabled' | 'deleting';

export interface Customer {
  readonly id: bigint;
  readonly uid: string;
  readonly status: CustomerStatus;
  readonly isOperator: boolean;
  /** Its first user. */
  readonly userId: bigint;
  readonly isAdmin: boolean;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
}

/** Names of zones are shorter. */
const TIMEZONE_LENGTH_MAX = 64;
/** Languages are numbered by translators; a larger number is a mistake. */
const LANGUAGE_ID_MAX = 10_000;

const personName = optionalLine(PERSON_NAME_LENGTH_MAX).nullish();

/** What a user sets in the own profile; undefined changes nothing, null clears. */
export const profileInput = z.object({
  firstName: personName,
  lastName: personName,
  timezone: z
    .string()
    .trim()
    .max(TIMEZONE_LENGTH_MAX)
    .refine(isTimezone, 'must be the name of a time zone, such as Europe/Vienna')
    .nullish(),
});

export const customerInput = profileInput.extend({
  languageId: z.int().min(1).max(LANGUAGE_ID_MAX).nullish(),
});

export const newCustomerInput = customerInput.extend({ email: emailAddress() });
export const changedCustomerInput = customerInput.extend({ email: emailAddress().optional() });

/** Whether this names a zone of the IANA database. Empty: none, which means UTC. */
export function isTimezone(name: string): boolean {
  // Intl also accepts offsets such as +01:00, which are no names.
  if (name === '') return true;
  if (!/^[A-Za-z][\w+/-]*$/.test(name)) return false;
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

/** The name of a customer without one: its first user's name, else the address. */
export function customerName(user: { firstName: string; lastName: string; email: string }): string {
  return `${user.firstName} ${user.lastName}`.trim() || user.email;
}
