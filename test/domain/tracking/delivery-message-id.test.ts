import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { deliveryMessageId, parseDeliveryMessageId } from '../../../src/domain/tracking/delivery-message-id.ts';
import { deliveryOf } from '../../support/delivery-of.ts';
import { testInstallation } from '../../support/test-context.ts';

const installation = testInstallation;
const delivery = deliveryOf({ customerId: 7n, campaignId: 36n, subscriberId: 123_456_789_012n });

test('is the same for every attempt and can be read back, for every id', () => {
  const id = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n });
  fc.assert(
    fc.property(id, id, id, (customerId, campaignId, subscriberId) => {
      const key = deliveryOf({ customerId, campaignId, subscriberId });
      const messageId = deliveryMessageId(installation, key, 'news.example');
      expect(messageId).toBe(deliveryMessageId(installation, key, 'news.example'));
      expect(messageId).toMatch(/^<[0-9a-z.]{1,64}@news\.example>$/);
      expect(parseDeliveryMessageId(installation, messageId)).toEqual(key);
    }),
  );
});

test('survives what relays do to it: no brackets, other case, white space', () => {
  const messageId = deliveryMessageId(installation, delivery, 'news.example');
  expect(parseDeliveryMessageId(installation, ` ${messageId.slice(1, -1).toUpperCase()}\r\n`)).toEqual(delivery);
});

test('one that we did not make says nothing', () => {
  const [, local = ''] = /^<(.*)@/.exec(deliveryMessageId(installation, delivery, 'news.example')) ?? [];
  const forged = [...local].map((character, at) => {
    const other = character === '0' ? '1' : '0';
    return `<${local.slice(0, at)}${other}${local.slice(at + 1)}@news.example>`;
  });
  expect(forged.filter((messageId) => parseDeliveryMessageId(installation, messageId))).toEqual([]);
  const foreign = { ...installation, secret: 'b'.repeat(32) };
  expect(parseDeliveryMessageId(foreign, `<${local}@news.example>`)).toBeUndefined();
  for (const text of ['', '<>', '<a@b>', '<1.2.3.4@x>', `<mail.${'z'.repeat(57)}@x>`, local])
    expect(parseDeliveryMessageId(installation, text)).toBeUndefined();
});
