/** The drivers for Amazon SES keep the contract of sending drivers, against a vendor that behaves as its documents say. */
import { describe, expect, test } from 'vitest';
import type { WebhookEvent, WebhookRequest } from '../../src/plugin-api/index.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { connectSmtpFor, driverOf } from '../support/drivers-of-plugin.ts';
import { bounce, complaint, notified, published, SES_MESSAGE_ID, subscription, topic } from '../support/ses-events.ts';
import { SES_KEY, SES_REGION, SES_TOPIC, startSesVendor } from '../support/ses-vendor.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';
import { amazonWith, startSns } from '../support/sns.ts';

const sns = startSns();
const plugin = amazonWith(sns);

/** Without the id of the event: it is that of the message of SNS. */
type Expected = { readonly kind: WebhookEvent['kind'] } & Readonly<Record<string, unknown>>;

function caseOf(request: WebhookRequest, expected: Expected): { request: WebhookRequest; events: WebhookEvent[] } {
  const id = request.headers['x-amz-sns-message-id'];
  const named = { id, messageId: SES_MESSAGE_ID, ...expected };
  return { request, events: [(expected.kind === 'ignored' ? expected : named) as WebhookEvent] };
}

const ownId = 'mail-k1';
const gone = { status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 no such user' };
const told = { statusCode: '5.1.1', description: 'smtp; 550 5.1.1 no such user' };
const cases = [
  caseOf(sns.notification(published('Delivery', { delivery: { recipients: ['anna@there.test'] } })), {
    ...{ kind: 'delivered', ownId },
  }),
  caseOf(sns.notification(notified('Delivery'), { version: '1' }), { kind: 'delivered', ownId: 'mail.k1' }),
  caseOf(sns.notification(notified('Delivery', {}, [])), { kind: 'delivered' }),
  caseOf(sns.notification(published('Bounce', bounce('Permanent', 'NoEmail', gone))), {
    ...{ kind: 'bounced', ownId, bounceType: 'hard', ...told },
  }),
  caseOf(sns.notification(notified('Bounce', bounce('Permanent', 'General', gone))), {
    ...{ kind: 'bounced', ownId: 'mail.k1', bounceType: 'unclear', ...told },
  }),
  caseOf(sns.notification(published('Bounce', bounce('Permanent', 'General'))), {
    ...{ kind: 'bounced', ownId, bounceType: 'hard', description: 'Permanent General' },
  }),
  ...['Suppressed', 'OnAccountSuppressionList'].map((subType) =>
    caseOf(sns.notification(published('Bounce', bounce('Permanent', subType, { diagnosticCode: 'Amazon SES list' }))), {
      ...{ kind: 'bounced', ownId, bounceType: 'hard', description: 'Amazon SES list' },
    }),
  ),
  ...['General', 'MailboxFull'].map((subType) =>
    caseOf(sns.notification(published('Bounce', bounce('Transient', subType))), {
      ...{ kind: 'bounced', ownId, bounceType: 'soft', description: `Transient ${subType}` },
    }),
  ),
  ...['MessageTooLarge', 'ContentRejected', 'AttachmentRejected'].map((subType) =>
    caseOf(sns.notification(published('Bounce', bounce('Transient', subType))), {
      ...{ kind: 'bounced', ownId, bounceType: 'blocked', description: `Transient ${subType}` },
    }),
  ),
  caseOf(sns.notification(published('Bounce', bounce('Undetermined', 'Undetermined', gone))), {
    ...{ kind: 'bounced', ownId, bounceType: 'unclear', ...told },
  }),
  caseOf(sns.notification(published('Complaint', complaint({ complaintFeedbackType: 'abuse' }))), {
    ...{ kind: 'complained', ownId, feedbackType: 'abuse' },
  }),
  caseOf(sns.notification(notified('Complaint', complaint())), { kind: 'complained', ownId: 'mail.k1' }),
  caseOf(sns.notification(published('Complaint', complaint({ complaintFeedbackType: 'not-spam' }))), {
    ...{ kind: 'ignored', name: 'Complaint not-spam' },
  }),
  caseOf(sns.notification(published('Complaint', complaint({ complaintSubType: 'OnAccountSuppressionList' }))), {
    ...{ kind: 'bounced', ownId, bounceType: 'blocked', description: 'Complaint OnAccountSuppressionList' },
  }),
  caseOf(sns.notification(published('Reject', { reject: { reason: 'Bad content' } })), {
    ...{ kind: 'bounced', ownId, bounceType: 'blocked', description: 'Bad content' },
  }),
  caseOf(sns.notification(published('Subscription', subscription())), { kind: 'unsubscribed', ownId }),
  // One topic more than before; not one less, and not without the preferences.
  caseOf(
    sns.notification(
      published(
        'Subscription',
        subscription(
          { unsubscribeAll: false, topicSubscriptionStatus: [topic('News', 'OptOut'), topic('Offers', 'OptOut')] },
          { unsubscribeAll: false, topicSubscriptionStatus: [topic('News', 'OptIn'), topic('Offers', 'OptOut')] },
        ),
      ),
    ),
    { kind: 'unsubscribed', ownId },
  ),
  caseOf(
    sns.notification(
      published(
        'Subscription',
        subscription(
          { unsubscribeAll: false, topicSubscriptionStatus: [topic('News', 'OptIn'), topic('Offers', 'OptOut')] },
          { unsubscribeAll: true, topicSubscriptionStatus: [topic('News', 'OptOut'), topic('Offers', 'OptOut')] },
        ),
      ),
    ),
    { kind: 'ignored', name: 'Subscription' },
  ),
  ...['Send', 'Open', 'Click', 'DeliveryDelay', 'Rendering Failure', 'Subscription', 'Painted'].map((name) =>
    caseOf(sns.notification(published(name)), { kind: 'ignored', name }),
  ),
  caseOf(sns.notification({ notificationType: 'AmazonSnsSubscriptionSucceeded', message: 'You have subscribed.' }), {
    ...{ kind: 'ignored', name: 'AmazonSnsSubscriptionSucceeded' },
  }),
  caseOf(sns.notification('Successfully validated SNS topic for Amazon SES event publishing.'), {
    ...{ kind: 'ignored', name: 'text' },
  }),
  caseOf(sns.notification(published('Delivery'), { fields: { Subject: 'Amazon SES Email Event Notification' } }), {
    ...{ kind: 'delivered', ownId },
  }),
  caseOf(sns.confirmation(), { kind: 'ignored', name: 'SubscriptionConfirmation' }),
  caseOf(
    sns.message('UnsubscribeConfirmation', { fields: { Message: 'Ended.', Token: 't', SubscribeURL: 'https://x' } }),
    {
      ...{ kind: 'ignored', name: 'UnsubscribeConfirmation' },
    },
  ),
];

describe('amazon-api', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'amazon-api'), {
    startVendor: startSesVendor,
    wrongSettings: {
      ...{ region: 'mars', access_key_id: 'a b', secret_access_key: '', configuration_set: 'a b' },
      ...{ sns_topic_arn: 'arn:aws:sqs:eu-west-1:123456789012:x', endpoint: 'ftp://x', max_connections: 0 },
    },
    webhook: { settings: { region: SES_REGION, ...SES_KEY, sns_topic_arn: SES_TOPIC }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections, a webhook and senders', () =>
    expect(rules).toHaveLength(26));
});

describe('amazon-smtp', () => {
  const rules = sendingDriverConformance(driverOf(plugin, 'amazon-smtp'), {
    startVendor: async () => {
      const vendor = await startSmtpVendor(['PIPELINING', '8BITMIME', 'AUTH PLAIN']);
      return { ...vendor, settings: { ...vendor.settings, username: 'AKIA', password: 'secret-of-smtp' } };
    },
    connectSmtp: connectSmtpFor,
    wrongSettings: {
      ...{ region: 'mars', host: 'a b', port: 70_000, encryption: 'ssl', username: 'a\r\nb', password: '' },
      ...{ configuration_set: 'a b', sns_topic_arn: `${SES_TOPIC}.fifo` },
    },
    webhook: { settings: { username: 'a', password: 'b', sns_topic_arn: SES_TOPIC }, cases },
  });
  test.each(rules)('$name', ({ check }) => check());
});
