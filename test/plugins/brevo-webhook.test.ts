/** Which reports of Brevo are believed, and what those that cannot be read do. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/brevo/index.ts';
import { BREVO_WEBHOOK_KEY, brevoReport } from '../support/brevo-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';

describe('a webhook', () => {
  const { webhook } = driverOf(plugin, 'brevo-api');
  if (!webhook) throw new Error('There is none.');
  const request = brevoReport({ event: 'delivered', 'message-id': '<m@x>' });
  const key = { webhook_key: BREVO_WEBHOOK_KEY };

  test('is believed by its secret address', () => {
    expect(webhook.address?.('https://h.test/webhook/brevo-api/u1', key)).toBe(
      `https://h.test/webhook/brevo-api/u1?key=${BREVO_WEBHOOK_KEY}`,
    );
    expect(webhook.verify(request, key)).toBe(true);
    expect(webhook.verify({ ...request, query: { key: BREVO_WEBHOOK_KEY.replace('0', '1') } }, key)).toBe(false);
    expect(webhook.verify({ ...request, query: {} }, key)).toBe(false);
    expect(webhook.verify(request, {})).toBe(false);
  });

  test('needs the Basic credentials where the settings have some', () => {
    const settings = { ...key, webhook_username: 'brevo', webhook_password: 'p:w' };
    const authorization = `Basic ${Buffer.from('brevo:p:w').toString('base64')}`;
    expect(webhook.verify(request, settings)).toBe(false);
    expect(webhook.verify({ ...request, headers: { authorization } }, settings)).toBe(true);
    expect(webhook.verify({ ...request, headers: { authorization: `${authorization}x` } }, settings)).toBe(false);
  });

  test('that cannot be taken now is answered as Brevo understands it', () => expect(webhook.busyStatus).toBe(429));

  test('is known again by message, recipient, kind and time', async () => {
    const idOf = async (report: object) => {
      const [event] = await webhook.parse(brevoReport({ event: 'delivered', 'message-id': '<m@x>', ...report }), key);
      return event && 'id' in event ? event.id : undefined;
    };
    expect(await idOf({ ts_epoch: 1 })).toBe(await idOf({ ts_epoch: '1' }));
    expect(await idOf({ ts_epoch: 1 })).not.toBe(await idOf({ ts_epoch: 2 }));
    expect(await idOf({ email: 'a@b.c' })).not.toBe(await idOf({ email: 'd@b.c' }));
  });

  test.each(['', '{', 'null', '7', '{}', '{"event": 7}', '{"items": []}'])('that is %j cannot be read', (body) =>
    expect(async () => webhook.parse(brevoReport(body), key)).rejects.toThrow(),
  );
});
