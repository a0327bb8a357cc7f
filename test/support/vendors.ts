/** The vendors whose drivers are part of the product, each with its double. */
import { plugin as elasticemail } from '../../plugins/mailwright/elasticemail/index.ts';
import { plugin as mailgun } from '../../plugins/mailwright/mailgun/index.ts';
import { plugin as sendgrid } from '../../plugins/mailwright/sendgrid/index.ts';
import { plugin as sparkpost } from '../../plugins/mailwright/sparkpost/index.ts';
import { plugin as amazon } from '../../plugins/mailwright/amazon/index.ts';
import { plugin as brevo } from '../../plugins/mailwright/brevo/index.ts';
import type { Plugin } from '../../src/plugin-api/index.ts';
import type { ApiVendor } from './api-vendor.ts';
import { startElasticVendor } from './elasticemail-vendor.ts';
import { startMailgunVendor } from './mailgun-vendor.ts';
import { startSendGridVendor } from './sendgrid-vendor.ts';
import { startSparkPostVendor } from './sparkpost-vendor.ts';
import { startSesVendor } from './ses-vendor.ts';
import { startBrevoVendor } from './brevo-vendor.ts';

export interface KnownVendor {
  /** The type of the servers of its web interface. */
  readonly type: string;
  readonly plugin: Plugin;
  readonly start: () => Promise<ApiVendor>;
}

export const VENDORS: readonly KnownVendor[] = [
  { type: 'mailgun-api', plugin: mailgun, start: startMailgunVendor },
  { type: 'sparkpost-api', plugin: sparkpost, start: () => startSparkPostVendor() },
  { type: 'amazon-api', plugin: amazon, start: () => startSesVendor() },
  { type: 'brevo-api', plugin: brevo, start: () => startBrevoVendor() },
  { type: 'sendgrid-api', plugin: sendgrid, start: () => startSendGridVendor() },
  { type: 'elasticemail-api', plugin: elasticemail, start: startElasticVendor },
];
