/** What may become a password (NIST SP 800-63B): its length, and that it is not what is tried first. */
import { dictionary } from '@zxcvbn-ts/language-common';
import { expect, test } from 'vitest';
import { checkNewPassword, faultsOfNewPassword } from '../../../src/domain/accounts/new-password.ts';

const owner = { email: 'Margaret.Hale@example.com', names: ['Margaret', 'Hale', null] };

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
