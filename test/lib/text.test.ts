import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ValidationError } from '../../src/lib/errors.ts';
import {
  emailAddress,
  emailKey,
  flag,
  isEmailAddress,
  multiLine,
  optionalLine,
  parseInput,
  singleLine,
} from '../../src/lib/text.ts';

describe('isEmailAddress', () => {
  test.each([
    'ann@example.com',
    "o'hara+news@sub.example.co",
    'a@localhost',
    'jörg@exämple.de',
    '用户@例子.公司',
    `${'a'.repeat(64)}@example.com`,
    'x@xn--exmple-cua.com',
  ])('takes %s', (address) => expect(isEmailAddress(address)).toBe(true));

  test.each([
    '',
    '@',
    'a',
    'a@',
    '@b.com',
    'a@b',
    'a@@b.com',
    'a@b@c.com',
    '.a@b.com',
    'a.@b.com',
    'a..b@c.com',
    'a b@c.com',
    'a@b c.com',
    'a@-b.com',
    'a@b-.com',
    'a@b..com',
    'a@b.com.',
    'a@127.0.0.1',
    'a@127.1',
    'a@[127.0.0.1]',
    'a@b/c.com',
    'a@b%41.com',
    '"a b"@c.com',
    'a(comment)@b.com',
    'group:a@b.com;',
    'a@b.com,c@d.com',
    '<a@b.com>',
    'a@b.com\r\nBcc: e@f.gh',
    'a\u0000@b.com',
    'a@b\u0085.com',
    'a\u2028@b.com',
    'a\ud800@b.com',
    `${'a'.repeat(65)}@b.com`,
    `a@${'b'.repeat(64)}.com`,
    `a@${'b.'.repeat(130)}com`,
  ])('refuses %j', (address) => expect(isEmailAddress(address)).toBe(false));
});

test('emailKey compares without case and with the domain in ASCII', () => {
  expect(emailKey('Ann@Example.COM')).toBe('ann@example.com');
  expect(emailKey('Jörg@EXÄMPLE.de')).toBe('jörg@xn--exmple-cua.de');
  expect(emailKey('JO\u0308RG@a.de')).toBe(emailKey('jörg@a.de'));
});

test('lines: trimmed, one line, bounded, well-formed', () => {
  expect(parseInput(singleLine(5), '  abcde'.slice(2))).toBe('abcde');
  expect(parseInput(optionalLine(5), ' ')).toBe('');
  expect(parseInput(multiLine(9), 'a\r\n\tb ')).toBe('a\r\n\tb ');
  for (const hostile of ['a\r\nb', 'a\nb', 'a\u0000', '\u0085', '\u2028', '\udfff', 'abcdef', '', '  ']) {
    expect(() => parseInput(singleLine(5), hostile)).toThrow(ValidationError);
  }
  for (const hostile of ['\u0000', '\u001b[0m', '\ud800', '0123456789']) {
    expect(() => parseInput(multiLine(9), hostile)).toThrow(ValidationError);
  }
});

test('flags in every spelling of D4', () => {
  for (const yes of [true, 1, '1', 'true', 'YES', 'on']) expect(parseInput(flag, yes)).toBe(true);
  for (const no of [false, 0, '0', 'False', 'no', 'off', '']) expect(parseInput(flag, no)).toBe(false);
  for (const wrong of [2, 'maybe', {}, [], null, Number.NaN])
    expect(() => parseInput(flag, wrong)).toThrow(ValidationError);
});

test('parseInput names each field with a sentence', () => {
  const schema = z.strictObject({
    name: singleLine(4),
    fromEmail: emailAddress(),
    contact: z.strictObject({ countryId: z.int().min(1) }),
    type: z.enum(['text', 'number']),
    sure: flag,
  });
  const input = { name: 'abcdef', fromEmail: 'x', contact: { countryId: 'a', more: 1 }, type: 'blob', sure: 'perhaps' };
  expect(fieldsOf(() => parseInput(schema, input))).toEqual({
    name: ['The name may not be greater than 4 characters.'],
    fromEmail: ['The from email must be a valid email address.'],
    'contact.countryId': ['The country id must be a number.'],
    'contact.more': ['The more field is not known.'],
    type: ['The type must be one of: text, number.'],
    sure: ['The sure must be true or false.'],
  });
  expect(fieldsOf(() => parseInput(schema, { name: '', fromEmail: null }))).toEqual({
    name: ['The name field is required.'],
    fromEmail: ['The from email field is required.'],
    contact: ['The contact field is required.'],
    type: ['The type field is required.'],
    sure: ['The sure field is required.'],
  });
  expect(fieldsOf(() => parseInput(schema, 'text'))).toEqual({ input: ['The input must be an object.'] });
});

function fieldsOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    if (error instanceof ValidationError) return error.fields;
    throw error;
  }
  throw new Error('nothing was thrown');
}

test.each([
  [{ atLeast: 0 }, { atLeast: ['The value of “at least” must be at least 1.'] }],
  [{ atLeast: 1, from: 5 }, { from: ['The value of “from” must be a string.'] }],
  [{ atLeast: 1, from: '' }, { from: ['The “from” field is required.'] }],
  [{ atLeast: 1, inLastDays: 'x' }, { inLastDays: ['The value of “in last days” must be a number.'] }],
  [{ atLeast: 1, fromEmail: 'x'.repeat(9) }, { fromEmail: ['The from email may not be greater than 5 characters.'] }],
  [{ atLeast: 1, notIn: 1 }, { notIn: ['The “not in” field is not known.'] }],
])('names that are no nouns are quoted: %j', (input, fields) => {
  const schema = z.strictObject({
    atLeast: z.int().min(1),
    from: z.string().min(1).optional(),
    inLastDays: z.number().optional(),
    fromEmail: z.string().max(5).optional(),
  });
  expect(() => parseInput(schema, input)).toThrow(expect.objectContaining({ fields }));
});
