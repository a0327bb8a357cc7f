/** The contact of a customer (D61): the fields of a list's contact, each optional. Accounts keep it. */
import { parseInput } from '../../lib/text.ts';
import type { ContactChanges } from '../accounts/customer.ts';
import { customerContactInput, withCountryNumber, type ListContactGiven } from './list-fields.ts';

/**
 * What changes of a customer's contact: null and an empty text clear a field, and so does the country 0, which forms send when
 * nothing was chosen. Undefined changes nothing, null clears all. Throws ValidationError on `contact.<field>`.
 */
export function contactChanges(given: ListContactGiven | null | undefined): ContactChanges | null | undefined {
  if (!given) return given;
  const { contact } = withCountryNumber({ contact: given });
  const entries = Object.entries(contact).filter(([, value]) => value !== undefined);
  const isCleared = ([, value]: (typeof entries)[number]) => value === null || value === '' || value === 0;
  const set = Object.fromEntries(entries.filter((entry) => !isCleared(entry)));
  const cleared = entries.filter(isCleared).map(([name]) => [name, null] as const);
  return { ...parseInput(customerContactInput, { contact: set }).contact, ...Object.fromEntries(cleared) };
}
