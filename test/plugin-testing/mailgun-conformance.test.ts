/** The drivers for Mailgun keep the contract of sending drivers, against a vendor that behaves as its documents say. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/mailgun/index.ts';
import { webhook } from '../../plugins/mailwright/mailgun/webhook.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { connectSmtpFor, driverOf } from '../support/drivers-of-plugin.ts';
import { MAILGUN_SIGNING_KEY, mailgunReport, startMailgunVendor } from '../support/mailgun-vendor.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';

const report = (data: object) => mailgunReport(data, { token: 'token-1' });
const named = {
  id: 'e1',
  timestamp: 1_500_000_000.5,
  message: { headers: { 'message-id': 'm1@mg.test' } },
  'user-variables': { mailwright_id: 'mail.k1' },
};
const known = { id: 'token-1', messageId: 'm1@mg.test', ownId: 'mail.k1' };
const cases = [
  { request: report({ ...named, event: 'delivered' }), events: [{ kind: 'delivered' as const, ...known }] },
  {
    request: report({
      ...{ ...named, event: 'failed', severity: 'permanent', reason: 'generic' },
      'delivery-status': { code: 550, message: '5.1.1 The user does not exist', 'enhanced-code': '5.1.1' },
    }),
    events: [
      {
        ...{ kind: 'bounced' as const, ...known, bounceType: 'unclear' as const },
        ...{ description: '550 5.1.1 The user does not exist', statusCode: '5.1.1' },
      },
    ],
  },
  {
    request: report({ ...named, event: 'failed', severity: 'permanent', reason: 'suppress-bounce' }),
    events: [{ kind: 'bounced' as const, ...known, bounceType: 'hard' as const, description: 'suppress-bounce' }],
  },
  {
    request: report({ ...named, event: 'failed', severity: 'temporary' }),
    events: [{ kind: 'ignored' as const, name: 'failed' }],
  },
  { request: report({ ...named, event: 'complained' }), events: [{ kind: 'complained' as const, ...known }] },
  { request: report({ ...named, event: 'unsubscribed' }), events: [{ kind: 'unsubscribed' as const, ...known }] },
  { request: report({ ...named, event: 'painted' }), events: [{ kind: 'ignored' as const, name: 'painted' }] },
];

describe('mailgun-api', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'mailgun-api'), {
    startVendor: startMailgunVendor,
    wrongSettings: { region: 'mars', domain: 'a b', api_key: '', endpoint: 'ftp://x', max_connections: 0 },
    webhook: {
      settings: { domain: 'mg.test', api_key: 'k', webhook_signing_key: MAILGUN_SIGNING_KEY },
      cases,
    },
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections, a webhook and senders', () =>
    expect(rules).toHaveLength(26));
});

test.each([{}, { event: 5 }, { event: 'failed', message: 'none' }])(
  'a genuine report that cannot be read (%j) is no forgery: it is kept, and can be read once more after an upgrade',
  (data) => {
    const settings = { webhook_signing_key: MAILGUN_SIGNING_KEY };
    expect(webhook.verify(report(data), settings)).toBe(true);
    expect(() => webhook.parse(report(data), settings)).toThrow();
    expect(webhook.verify(mailgunReport(data, { key: 'another' }), settings)).toBe(false);
  },
);

describe('mailgun-smtp', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'mailgun-smtp'), {
    startVendor: async () => {
      const vendor = await startSmtpVendor(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN']);
      return { ...vendor, settings: { ...vendor.settings, username: 'a', password: 'secret-of-smtp' } };
    },
    connectSmtp: connectSmtpFor,
    wrongSettings: { region: 'mars', host: 'a b', port: 70_000, encryption: 'ssl', username: 'a\r\nb', password: '' },
    webhook: { settings: { username: 'a', password: 'b', webhook_signing_key: MAILGUN_SIGNING_KEY }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
});
