/** What a customer is made or changed by. */
import type { Dialect } from '../dialects.ts';
import type { Input } from '../input.ts';
import { contact } from '../lists/routes.ts';

/** JSON null clears the whole contact. */
export function contactOf(input: Input, dialect: Dialect) {
  const given = contact(input, dialect);
  return input.isNull('contact') ? null : given;
}

/** Of a new or a changed customer. */
export function person(input: Input) {
  return {
    firstName: input.text('first_name'),
    lastName: input.text('last_name'),
    timezone: input.text('timezone'),
    languageId: input.isNull('language_id') ? null : input.integer('language_id'),
  };
}
