/** Addresses to which a test goes, as REST takes them. */
import type { Input } from './input.ts';

/** An array, or one text with commas. */
export function emailsIn(input: Input): string[] {
  const given = input.raw('emails') ?? input.raw('email');
  if (typeof given === 'string')
    return given
      .split(',')
      .map((email) => email.trim())
      .filter((email) => email !== '');
  const emails = Array.isArray(given) ? given.filter((email) => typeof email === 'string') : [];
  if (given !== undefined && given !== null && (!Array.isArray(given) || emails.length < given.length))
    input.refuse('emails', 'The emails must be addresses: an array, or one text with commas.');
  return emails;
}
