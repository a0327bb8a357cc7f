import { expect, test } from 'vitest';
import { isUnavailable } from '../../src/lib/is-unavailable.ts';

const coded = (code: string, message = '') => Object.assign(new Error(message), { code });

test.each([
  ['refused', coded('ECONNREFUSED')],
  ['stopped by its administrator', coded('57P01')],
  ['a full disk', coded('53100')],
  ['below another error', new Error('outside', { cause: coded('08006') })],
  ['cut off', new Error('Connection terminated unexpectedly')],
  [
    'in Prisma’s words',
    coded(
      'P2010',
      '\nInvalid `prisma.mailList.findMany()` invocation:\n\n\nDatabase error. Code: `57P01`. Message: `terminating connection`',
    ),
  ],
  [
    'full, in Prisma’s words',
    coded(
      'P2037',
      '\nInvalid `prisma.mailList.count()` invocation:\n\n\nToo many database connections opened: sorry, too many clients already',
    ),
  ],
])('a database that is away: %s', (_name, error) => expect(isUnavailable(error)).toBe(true));

test.each([
  ['a row that is there twice', coded('23505')],
  ['in Prisma’s words', coded('P2010', 'Database error. Code: `23505`. Message: `duplicate`')],
  ['a text', 'ECONNREFUSED'],
])('a mistake of ours: %s', (_name, error) => expect(isUnavailable(error)).toBe(false));
