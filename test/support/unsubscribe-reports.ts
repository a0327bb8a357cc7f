/** Unsubscribes as each vendor reports them, with the real proof: what a person did with a link or a header of the vendor's own. */
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { BREVO_WEBHOOK_KEY, brevoReport } from './brevo-vendor.ts';
import { ELASTIC_WEBHOOK_KEY, elasticReport } from './elasticemail-vendor.ts';
import { MAILGUN_SIGNING_KEY, mailgunReport } from './mailgun-vendor.ts';
import { SENDGRID_PUBLIC_KEY, sendGridReport } from './sendgrid-vendor.ts';
import { published, subscription } from './ses-events.ts';
import { SES_KEY, SES_REGION, SES_TOPIC } from './ses-vendor.ts';
import type { Sns } from './sns.ts';
import { SPARKPOST_WEBHOOK_KEY, sparkPostReport } from './sparkpost-vendor.ts';
import { testCertificate } from './test-certificate.ts';

export interface ReportingVendor {
  readonly type: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Of the person who got the message with this `idempotencyKey`; the same event for the same number. */
  report(ownId: string, event: number): WebhookRequest;
  /** The same from somebody who is not the vendor. */
  forged(ownId: string, event: number): WebhookRequest;
}

const WRONG_KEY = 'f'.repeat(32);

export function reportingVendors(sns: Sns): readonly ReportingVendor[] {
  const stranger = testCertificate();
  const mailgun = (ownId: string) => ({
    ...{ event: 'unsubscribed', recipient: 'p1@example.org' },
    ...{ message: { headers: { 'message-id': 'lost@mg.test' } }, 'user-variables': { mailwright_id: ownId } },
  });
  const sendGrid = (ownId: string, event: number) => [
    {
      event: 'group_unsubscribe',
      asm_group_id: 10,
      sg_event_id: `e${event}`,
      sg_message_id: 'lost.1',
      mailwright_id: ownId,
    },
  ];
  const sparkPost = (ownId: string, event: number) => [
    {
      msys: {
        unsubscribe_event: {
          ...{ type: 'list_unsubscribe', event_id: `e${event}`, transmission_id: 'lost' },
          rcpt_meta: { mailwright_id: ownId },
        },
      },
    },
  ];
  const ses = (ownId: string) =>
    published('Subscription', subscription(), { mailwright_id: [ownId.replaceAll('.', '-')] });
  const brevo = (ownId: string, event: number) => ({
    ...{ event: 'unsubscribed', email: 'p1@example.org', 'message-id': '<lost@smtp-relay.mailin.fr>', ts_epoch: event },
    'X-Mailin-custom': `mailwright_id:${ownId}`,
  });
  const elastic = (ownId: string, event: number) => ({
    ...{ status: 'Unsubscribed', to: 'p1@example.org', messageid: 'lost', date: `11/27/2026 1:00:0${event} PM` },
    postback: ownId,
  });
  return [
    {
      type: 'mailgun-api',
      settings: { domain: 'mg.test', api_key: 'k', webhook_signing_key: MAILGUN_SIGNING_KEY },
      report: (ownId, event) => mailgunReport(mailgun(ownId), { token: `token-of-event-${event}` }),
      forged: (ownId) => mailgunReport(mailgun(ownId), { key: 'another' }),
    },
    {
      type: 'sendgrid-api',
      settings: { api_key: 'k', webhook_public_key: SENDGRID_PUBLIC_KEY },
      report: (ownId, event) => sendGridReport(sendGrid(ownId, event)),
      forged: (ownId, event) => ({
        ...sendGridReport([]),
        body: Buffer.from(JSON.stringify(sendGrid(ownId, event))),
      }),
    },
    {
      type: 'sparkpost-api',
      settings: { api_key: 'k', webhook_key: SPARKPOST_WEBHOOK_KEY },
      report: (ownId, event) => sparkPostReport(sparkPost(ownId, event)),
      forged: (ownId, event) => sparkPostReport(sparkPost(ownId, event), { key: WRONG_KEY }),
    },
    {
      type: 'amazon-api',
      settings: { region: SES_REGION, ...SES_KEY, sns_topic_arn: SES_TOPIC },
      report: (ownId, event) => sns.notification(ses(ownId), { fields: { MessageId: `id-of-event-${event}` } }),
      forged: (ownId) => sns.notification(ses(ownId), { by: stranger }),
    },
    {
      type: 'brevo-api',
      settings: { api_key: 'k', webhook_key: BREVO_WEBHOOK_KEY },
      report: (ownId, event) => brevoReport(brevo(ownId, event)),
      forged: (ownId, event) => brevoReport(brevo(ownId, event), { key: WRONG_KEY }),
    },
    {
      type: 'elasticemail-api',
      settings: { api_key: 'k', webhook_key: ELASTIC_WEBHOOK_KEY },
      report: (ownId, event) => elasticReport(elastic(ownId, event)),
      forged: (ownId, event) => elasticReport(elastic(ownId, event), { key: WRONG_KEY }),
    },
  ];
}
