/** The drivers for SparkPost keep the contract of sending drivers, against a vendor that behaves as its documents say. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/sparkpost/index.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { connectSmtpFor, driverOf } from '../support/drivers-of-plugin.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';
import { SPARKPOST_WEBHOOK_KEY, sparkPostReport, startSparkPostVendor } from '../support/sparkpost-vendor.ts';

const named = {
  ...{ event_id: '92356927693813856', transmission_id: '65832150921904138' },
  ...{ rcpt_to: 'p@there.test', rcpt_meta: { mailwright_id: 'mail.k1' }, timestamp: '1454442600' },
};
const known = { id: '92356927693813856', messageId: '65832150921904138', ownId: 'mail.k1' };
const message = (event: object) => ({ msys: { message_event: { ...named, ...event } } });
const cases = [
  {
    request: sparkPostReport([message({ type: 'injection' }), message({ type: 'delivery' })]),
    events: [
      { kind: 'ignored' as const, name: 'injection' },
      { kind: 'delivered' as const, ...known },
    ],
  },
  {
    request: sparkPostReport([
      message({ type: 'bounce', bounce_class: '10', raw_reason: '550 5.1.1 unknown user', error_code: '550' }),
    ]),
    events: [
      {
        ...{ kind: 'bounced' as const, ...known },
        ...{ bounceType: 'hard' as const, description: '550 5.1.1 unknown user' },
      },
    ],
  },
  {
    request: sparkPostReport([message({ type: 'spam_complaint', fbtype: 'abuse' })]),
    events: [{ kind: 'complained' as const, ...known, feedbackType: 'abuse' }],
  },
  ...['list_unsubscribe', 'link_unsubscribe'].map((type) => ({
    request: sparkPostReport([{ msys: { unsubscribe_event: { ...named, type } } }]),
    events: [{ kind: 'unsubscribed' as const, ...known }],
  })),
  { request: sparkPostReport([{ msys: {} }]), events: [{ kind: 'ignored' as const, name: 'ping' }] },
];

describe('sparkpost-api', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'sparkpost-api'), {
    startVendor: startSparkPostVendor,
    wrongSettings: {
      ...{ region: 'mars', api_key: '', endpoint: 'ftp://x', max_connections: 0 },
      ...{ webhook_key: 'short', webhook_username: 'a\nb', webhook_password: 'a\0b' },
    },
    webhook: { settings: { api_key: 'k', webhook_key: SPARKPOST_WEBHOOK_KEY }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections, a webhook and senders', () =>
    expect(rules).toHaveLength(26));
});

describe('sparkpost-smtp', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'sparkpost-smtp'), {
    startVendor: async () => {
      const vendor = await startSmtpVendor(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN LOGIN']);
      return { ...vendor, settings: { ...vendor.settings, password: 'secret-of-smtp' } };
    },
    connectSmtp: connectSmtpFor,
    wrongSettings: { region: 'mars', host: 'a b', port: 70_000, encryption: 'ssl', password: '', webhook_key: 'x' },
    webhook: { settings: { password: 'b', webhook_key: SPARKPOST_WEBHOOK_KEY }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
});
