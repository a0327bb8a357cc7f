/** The drivers for SendGrid keep the contract of sending drivers, against a vendor that behaves as its documents say. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/sendgrid/index.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { connectSmtpFor, driverOf } from '../support/drivers-of-plugin.ts';
import { SENDGRID_PUBLIC_KEY, sendGridReport, startSendGridVendor } from '../support/sendgrid-vendor.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';

const named = {
  ...{ email: 'p@there.test', timestamp: 1_700_000_000, sg_event_id: 'e1', mailwright_id: 'mail.k1' },
  sg_message_id: 'euo2iKxdSayPF4YE4--I7A.recvd-5f54b5d587-pczjm-1-67BADEEA-6.0',
};
const known = { id: 'e1', messageId: 'euo2iKxdSayPF4YE4--I7A', ownId: 'mail.k1' };
const bounced = { kind: 'bounced' as const, ...known };
const cases = [
  {
    request: sendGridReport([
      { ...named, event: 'processed' },
      { ...named, event: 'delivered', response: '250 OK' },
    ]),
    events: [
      { kind: 'ignored' as const, name: 'processed' },
      { kind: 'delivered' as const, ...known },
    ],
  },
  {
    request: sendGridReport([
      { ...named, event: 'bounce', type: 'bounce', status: '5.1.1', reason: '550 5.1.1 unknown user' },
      { ...named, event: 'bounce', type: 'bounce', bounce_classification: 'Invalid Address', reason: '550 no' },
    ]),
    events: [
      { ...bounced, bounceType: 'unclear' as const, statusCode: '5.1.1', description: '550 5.1.1 unknown user' },
      { ...bounced, bounceType: 'hard' as const, description: '550 no' },
    ],
  },
  { request: sendGridReport([{ ...named, event: 'spamreport' }]), events: [{ kind: 'complained' as const, ...known }] },
  ...['unsubscribe', 'group_unsubscribe'].map((event) => ({
    request: sendGridReport([{ ...named, event }]),
    events: [{ kind: 'unsubscribed' as const, ...known }],
  })),
  {
    request: sendGridReport([{ ...named, event: 'painted' }]),
    events: [{ kind: 'ignored' as const, name: 'painted' }],
  },
];

describe('sendgrid-api', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'sendgrid-api'), {
    startVendor: startSendGridVendor,
    wrongSettings: {
      ...{ region: 'mars', api_key: '', endpoint: 'ftp://x', max_connections: 0 },
      webhook_public_key: 'MFkwEwYHKoZIzj0CAQ',
    },
    webhook: { settings: { api_key: 'k', webhook_public_key: SENDGRID_PUBLIC_KEY }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections, a webhook and senders', () =>
    expect(rules).toHaveLength(26));
});

describe('sendgrid-smtp', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'sendgrid-smtp'), {
    startVendor: async () => {
      const vendor = await startSmtpVendor(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN']);
      return { ...vendor, settings: { ...vendor.settings, password: 'secret-of-smtp' } };
    },
    connectSmtp: connectSmtpFor,
    wrongSettings: { region: 'mars', host: 'a b', port: 70_000, encryption: 'ssl', username: 'a\r\nb', password: '' },
    webhook: { settings: { password: 'b', webhook_public_key: SENDGRID_PUBLIC_KEY }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
});
