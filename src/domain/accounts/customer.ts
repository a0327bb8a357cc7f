/** Customers: their fields and rules. A customer is a tenant; its first user is the one it was created with. */
import { z } from 'zod';
import { emailAddress, optionalLine } from '../../lib/text.ts';
import { PERSON_NAME_LENGTH_MAX } from './account-limits.ts';
import { isLanguageId } from './languages.ts';

/** `deleting`: no longer visible, and being erased from the tables. */
export type CustomerStatus = 'active' | 'disabled' | 'deleting';

/** Company and address, by the names of a list's contact; absent fields are empty. */
export type CustomerContact = Readonly<Record<string, string | number>>;

/** New values of its fields; undefined changes nothing, null clears. */
export type ContactChanges = Readonly<Record<string, string | number | null | undefined>>;

const contactRow = z.record(z.string(), z.union([z.string(), z.number()])).nullable();

/** The contact in a row. */
export function storedContact(value: unknown): CustomerContact | null {
  return contactRow.parse(value);
}

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
  /** The place of its picture below `/files/`. */
  readonly image: string | null;
}

/** Names of zones are shorter. */
const TIMEZONE_LENGTH_MAX = 64;

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
  languageId: z
    .int()
    .refine(isLanguageId, 'must be the number of a language with a translation')
    .describe('A number of `languages`.')
    .nullish(),
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
