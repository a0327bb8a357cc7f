/** What may become a password (NIST SP 800-63B): its length, and that it is not what is tried first. */
import { dictionary } from '@zxcvbn-ts/language-common';
import { expect, test } from 'vitest';
import { hashPassword } from '../../../src/domain/accounts/password.ts';
import { checkNewPassword, faultsOfNewPassword } from '../../../src/domain/accounts/new-password.ts';

const owner = { email: 'Margaret.Hale@example.com', names: ['Margaret', 'Hale', 'MargaretHale', 'Hale & Sons', null] };

test.each([
  ['eight characters', 'xq7mvf2p'],
  ['only small letters', 'wandering heron sings'],
  ['only digits, if they are no usual ones', '830174629511'],
  ['128 characters', 'heron-sings-'.repeat(10).padEnd(128, 'x')],
  ['other alphabets, counted by character', 'цапля👍👍👍'],
  ['white space inside and around', '  a b c d  '],
  ['a name with enough beside it', 'margaret-and-4-kettles'],
])('takes %s', async (_, password) => {
  expect(await faultsOfNewPassword(password, owner)).toEqual([]);
});

test.each([
  ['nothing', '', /required/],
  ['seven characters', 'xq7mvf2', /at least 8 characters/],
  ['seven characters of two units each', '👍'.repeat(7), /at least 8 characters/],
  ['129 characters', 'heron-sings-'.repeat(10).padEnd(129, 'x'), /greater than 128 characters/],
  ['a megabyte', 'heron-si'.repeat(131_072), /greater than 128 characters/],
  ['a line break', 'heron\nsings well', /control characters/],
  ['half a surrogate pair', 'heron-sings-\ud83d', /control characters/],
  ['a common one', 'Password1', /most used/],
  ['a common one in capitals', 'SUNSHINE1', /most used/],
  ['nothing but spaces', ' '.repeat(12), /spaces only/],
  ['nothing but wide spaces', '\u3000\u2003'.repeat(6), /spaces only/],
  ['the name of the product', 'Mailwright', /name of the product/],
  ['the same with a year and a sign', 'mail-WRIGHT2026!', /name of the product/],
  ["the customer's name", 'hale & sons', /a name/],
  ['a name with digits', 'margaret1', /a name/],
  ['first and last name', 'Margaret Hale', /a name/],
  ['the address', 'margaret.hale@example.com', /email address/],
  ['its first part', 'Margaret.Hale', /email address/],
  ['the name', 'MARGARET', /email address/],
])('refuses %s', async (_, password, fault) => {
  expect(await faultsOfNewPassword(password, owner)).toEqual([expect.stringMatching(fault)]);
});

test('of the 10,000 most used passwords none is taken (every 50th tried), in small letters or capitals', async () => {
  const common = dictionary['passwords-common'].slice(0, 10_000);
  const tried = common.filter((_, place) => place % 50 === 0);
  for (const password of [...tried, ...tried.map((one) => one.toUpperCase())])
    expect(await faultsOfNewPassword(password)).not.toEqual([]);
});

test('the fault is told on the field that was asked for', async () => {
  await expect(checkNewPassword('short', {}, 'newPassword')).rejects.toMatchObject({
    fields: { newPassword: ['The new password must be at least 8 characters.'] },
  });
});

test.each(['kettle-and-heron', 'Kettle-and-Heron', 'kettle-and-heron1', '2027 kettle and heron!', 'KETTLEANDHERON'])(
  'the old one is no new one, nor with other case, digits or signs at its ends: %s',
  async (password) => {
    expect(await faultsOfNewPassword(password, { oldPassword: 'kettle-and-heron' })).toEqual([
      expect.stringMatching(/differ from the old one/),
    ]);
  },
);

test('where the old one was not typed the very same is refused', async () => {
  const oldHash = await hashPassword('kettle-and-heron');
  expect(await faultsOfNewPassword('kettle-and-heron', { oldHash })).toEqual([expect.stringMatching(/old one/)]);
  expect(await faultsOfNewPassword('wandering heron sings', { oldHash })).toEqual([]);
});
