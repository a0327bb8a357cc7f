/** What a refusal says about the address, where the words for a sender and those for a recipient are nearly the same. */
import { describe, expect, test } from 'vitest';
import { classifyBounce } from '../../../src/domain/bounces/classify-bounce.ts';

describe('a server that cannot find the sender says nothing about the recipient', () => {
  test.each([
    ['550-Verification failed for <news@house.test>\r\n550-Unrouteable address\r\n550 Sender verify failed'],
    ['550-Verification failed for <news@house.test>\r\n550-No Such User Here\r\n550 Sender verify failed'],
    [
      '550 Callback setup failed while verifying <news@house.test>\r\n550 unknown user: news\r\n550 Sender verify failed',
    ],
    ['550 5.1.8 <news@house.test>: Sender address rejected: Domain not found'],
    ['553 5.1.8 <news@house.test>... Domain of sender address news@house.test does not exist'],
    ['550 5.1.0 <news@house.test>: Sender address rejected: User unknown in virtual mailbox table'],
    ['550 5.1.7 <news@house.test>: Sender address rejected: undeliverable address: host mx said: 550 User unknown'],
    ['550 5.7.27 Sender address has null MX'],
    ['550 Sender domain does not exist'],
    ['550 The sender domain name does not exist'],
    ['550 Invalid sender domain'],
    ['550 5.7.1 Domain not found for sender news@house.test'],
    ['550 MAIL FROM domain not found'],
    ['550 The return path does not exist: domain not found'],
    ["550 Your sender's address couldn't be found"],
    ['550 HELO domain does not exist'],
    ['550 Reverse DNS lookup failed: domain name not found'],
    ['550 This message was not accepted: the From: domain does not exist'],
    ['550 5.7.24 SPF validation error: domain does not exist'],
    ['550 5.7.1 A domain in the message does not exist: domain not found'],
  ])('%s', (text) => expect(classifyBounce({ status: null, text })).toBe('blocked'));

  test('also where only the status says so', () => {
    for (const status of ['5.1.7', '5.1.8', '4.1.8', '5.7.27'])
      expect(classifyBounce({ status, text: 'Domain not found' })).toBe('blocked');
  });
});

test.each([
  [
    null,
    'Sender Address: a@b.test Recipient Address: c@d.test Error: 550 5.1.10 Recipient not found by SMTP address lookup',
  ],
  [null, 'I could not deliver mail from a@b.test: 550 5.1.1 user unknown'],
  ['5.1.2', '550 5.1.2 <@there.test>: Recipient address rejected: Domain not found'],
  // Postfix says 5.0.0 for a server that gave no status.
  ['5.0.0', '550 Requested action not taken: mailbox unavailable'],
  [null, '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550'],
])('a recipient who is gone: %s %s', (status, text) => expect(classifyBounce({ status, text })).toBe('hard'));

test('a sender who is refused by hand is not a mailbox that is unable', () => {
  const text =
    '550 Rejected by header based manually Blocked Senders - https://community.mimecast.com/docs/DOC-1369#550';
  expect(classifyBounce({ status: null, text })).toBe('blocked');
});
