/** The drivers for Elastic Email keep the contract of sending drivers, against a vendor that behaves as its documents say. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/elasticemail/index.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { connectSmtpFor, driverOf } from '../support/drivers-of-plugin.ts';
import { ELASTIC_WEBHOOK_KEY, elasticReport, startElasticVendor } from '../support/elasticemail-vendor.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';

const named = {
  ...{ transaction: 't1', messageid: 'm1', to: 'p1@there.test', from: 'news@house.test', subject: 'News' },
  ...{ date: '11/27/2026 1:00:00 PM', account: 'house@house.test', channel: '', target: '', postback: 'mail.k1' },
};
const known = (status: string, category = '') => ({
  id: `m1 p1@there.test ${status} ${category} 11/27/2026 1:00:00 PM`,
  ...{ messageId: 'm1', ownId: 'mail.k1' },
});
const bounced = (category: string, bounceType: 'hard' | 'soft' | 'blocked' | 'unclear') => ({
  request: elasticReport({ ...named, status: 'Error', category }),
  events: [{ kind: 'bounced' as const, ...known('Error', category), bounceType, description: category }],
});
const ignored = (name: string) => [{ kind: 'ignored' as const, name }];
const cases = [
  {
    request: elasticReport({ ...named, status: 'Sent', category: '' }),
    events: [{ kind: 'delivered' as const, ...known('Sent') }],
  },
  {
    request: elasticReport({}, { posted: { ...named, status: 'Sent', category: null } }),
    events: [{ kind: 'delivered' as const, ...known('Sent') }],
  },
  {
    request: elasticReport({ ...named, status: 'AbuseReport', category: '' }),
    events: [{ kind: 'complained' as const, ...known('AbuseReport') }],
  },
  {
    request: elasticReport({ ...named, status: 'Unsubscribed', category: '' }),
    events: [{ kind: 'unsubscribed' as const, ...known('Unsubscribed') }],
  },
  bounced('NoMailbox', 'hard'),
  ...['AccountProblem', 'GreyListed', 'Throttled', 'Timeout', 'DNSProblem'].map((one) => bounced(one, 'soft')),
  ...['Spam', 'BlackListed', 'SPFProblem', 'ContentFilter', 'NotDelivered'].map((one) => bounced(one, 'blocked')),
  bounced('MoonIsFull', 'unclear'),
  ...['Ignore', 'ManualCancel'].map((category) => ({
    request: elasticReport({ ...named, status: 'Error', category }),
    events: ignored(`Error ${category}`),
  })),
  ...['Opened', 'Clicked', 'Painted'].map((status) => ({
    request: elasticReport({ ...named, status }),
    events: ignored(status),
  })),
  { request: elasticReport({}), events: ignored('test of the address') },
];
const webhook = { settings: { api_key: 'k', webhook_key: ELASTIC_WEBHOOK_KEY }, cases };
const wrongWebhook = { webhook_key: 'short', webhook_username: 'a\r\nb', webhook_password: 'a\nb' };

describe('elasticemail-api', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'elasticemail-api'), {
    startVendor: startElasticVendor,
    // The account may have 20 connections.
    wrongSettings: { api_key: '', endpoint: 'ftp://x', max_connections: 21, ...wrongWebhook },
    webhook,
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections, a webhook and senders', () =>
    expect(rules).toHaveLength(26));
});

describe('elasticemail-smtp', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'elasticemail-smtp'), {
    startVendor: async () => {
      const vendor = await startSmtpVendor(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN']);
      return { ...vendor, settings: { ...vendor.settings, username: 'a', password: 'secret-of-smtp' } };
    },
    connectSmtp: connectSmtpFor,
    wrongSettings: { host: 'a b', port: 70_000, encryption: 'ssl', username: 'a\r\nb', password: '', ...wrongWebhook },
    webhook: { ...webhook, settings: { username: 'a', password: 'b', webhook_key: ELASTIC_WEBHOOK_KEY } },
  });
  test.each(rules)('$name', ({ check }) => check());
});
