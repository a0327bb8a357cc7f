/** The drivers for Brevo keep the contract of sending drivers, against a vendor that behaves as its documents say. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/brevo/index.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { BREVO_WEBHOOK_KEY, brevoReport, startBrevoVendor } from '../support/brevo-vendor.ts';
import { connectSmtpFor, driverOf } from '../support/drivers-of-plugin.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';

const named = {
  ...{ email: 'p1@there.test', id: 7, 'message-id': '<m1@smtp-relay.mailin.fr>', date: '2026-11-27 13:00:00' },
  ...{ ts: 1_795_000_000, ts_epoch: 1_795_000_000_123, 'X-Mailin-custom': 'mailwright_id:mail.k1' },
};
const known = (event: string) => ({
  id: `m1@smtp-relay.mailin.fr p1@there.test ${event} 1795000000123`,
  ...{ messageId: 'm1@smtp-relay.mailin.fr', ownId: 'mail.k1' },
});
const bounced = 'bounced' as const;
const delivered = { kind: 'delivered' as const, ...known('delivered') };
const ignored = (name: string) => ({ kind: 'ignored' as const, name });
const cases = [
  { request: brevoReport({ ...named, event: 'delivered' }), events: [delivered] },
  {
    request: brevoReport({ ...named, event: 'hard_bounce', reason: '550 5.1.1 The user does not exist' }),
    events: [
      {
        ...{ kind: bounced, ...known('hard_bounce'), bounceType: 'hard' as const },
        ...{ statusCode: '5.1.1', description: '550 5.1.1 The user does not exist' },
      },
    ],
  },
  {
    request: brevoReport({ ...named, event: 'hard_bounce', reason: '554 5.7.1 refused by policy' }),
    events: [
      {
        ...{ kind: bounced, ...known('hard_bounce'), bounceType: 'blocked' as const },
        ...{ statusCode: '5.7.1', description: '554 5.7.1 refused by policy' },
      },
    ],
  },
  {
    request: brevoReport({ ...named, event: 'soft_bounce', reason: 'mailbox full' }),
    events: [{ kind: bounced, ...known('soft_bounce'), bounceType: 'soft' as const, description: 'mailbox full' }],
  },
  {
    request: brevoReport({ ...named, event: 'invalid_email' }),
    events: [{ kind: bounced, ...known('invalid_email'), bounceType: 'hard' as const }],
  },
  {
    request: brevoReport({ ...named, event: 'blocked', reason: 'blocked : due to blacklist user' }),
    events: [
      {
        ...{ kind: bounced, ...known('blocked'), bounceType: 'blocked' as const },
        description: 'blocked : due to blacklist user',
      },
    ],
  },
  {
    request: brevoReport({ ...named, event: 'error', reason: 'Sender is not valid' }),
    events: [{ kind: bounced, ...known('error'), bounceType: 'blocked' as const, description: 'Sender is not valid' }],
  },
  { request: brevoReport({ ...named, event: 'spam' }), events: [{ kind: 'complained' as const, ...known('spam') }] },
  ...['unsubscribed', 'unsubscribe'].map((event) => ({
    request: brevoReport({ ...named, event }),
    events: [{ kind: 'unsubscribed' as const, ...known(event) }],
  })),
  ...['request', 'deferred', 'opened', 'unique_opened', 'proxy_open', 'click', 'painted'].map((event) => ({
    request: brevoReport({ ...named, event }),
    events: [ignored(event)],
  })),
  { request: brevoReport({ event: 'delivered', email: 'p1@there.test' }), events: [ignored('delivered')] },
  {
    request: brevoReport([{ ...named, event: 'delivered' }, 7, { ...named, event: 'painted' }]),
    events: [delivered, ignored('unreadable'), ignored('painted')],
  },
];
const webhook = { settings: { api_key: 'k', webhook_key: BREVO_WEBHOOK_KEY }, cases };
const wrongWebhook = { webhook_key: 'short', webhook_username: 'a\r\nb', webhook_password: 'a\nb' };

describe('brevo-api', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'brevo-api'), {
    startVendor: startBrevoVendor,
    wrongSettings: { api_key: 'xsmtpsib-x', endpoint: 'ftp://x', max_connections: 0, ...wrongWebhook },
    webhook,
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections, a webhook and senders', () =>
    expect(rules).toHaveLength(26));
});

describe('brevo-smtp', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'brevo-smtp'), {
    startVendor: async () => {
      const vendor = await startSmtpVendor(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN']);
      return { ...vendor, settings: { ...vendor.settings, username: 'a', password: 'secret-of-smtp' } };
    },
    connectSmtp: connectSmtpFor,
    wrongSettings: { host: 'a b', port: 70_000, encryption: 'ssl', username: 'a\r\nb', password: '', ...wrongWebhook },
    webhook: { ...webhook, settings: { username: 'a', password: 'b', webhook_key: BREVO_WEBHOOK_KEY } },
  });
  test.each(rules)('$name', ({ check }) => check());
});
