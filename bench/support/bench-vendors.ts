/** The vendors whose drivers are measured: settings that lead to a server of the bench, and what the vendor answers to an accepted message. */
import { plugin as amazon } from '../../plugins/mailwright/amazon/index.ts';
import { plugin as brevo } from '../../plugins/mailwright/brevo/index.ts';
import { plugin as elasticEmail } from '../../plugins/mailwright/elasticemail/index.ts';
import { plugin as mailgun } from '../../plugins/mailwright/mailgun/index.ts';
import { plugin as sendgrid } from '../../plugins/mailwright/sendgrid/index.ts';
import { plugin as sparkpost } from '../../plugins/mailwright/sparkpost/index.ts';
import type { Plugin, SettingsInput } from '../../src/plugin-api/index.ts';

export interface BenchVendor {
  readonly type: string;
  readonly plugin: Plugin;
  readonly settings: SettingsInput;
  readonly status: number;
  readonly headers?: (id: string) => Readonly<Record<string, string>>;
  readonly body: (id: string) => string;
}

export const benchVendors: readonly BenchVendor[] = [
  {
    ...{ type: 'amazon-api', plugin: amazon, status: 200 },
    settings: { region: 'eu-west-1', access_key_id: 'AKIABENCHBENCHBENCH1', secret_access_key: 'k'.repeat(40) },
    body: (id) => JSON.stringify({ MessageId: id }),
  },
  {
    ...{ type: 'sendgrid-api', plugin: sendgrid, status: 202 },
    settings: { api_key: 'SG.bench' },
    headers: (id) => ({ 'X-Message-Id': id }),
    body: () => '',
  },
  {
    ...{ type: 'mailgun-api', plugin: mailgun, status: 200 },
    settings: { api_key: 'bench', domain: 'bench.example' },
    body: (id) => JSON.stringify({ id: `<${id}@bench.example>`, message: 'Queued. Thank you.' }),
  },
  {
    ...{ type: 'sparkpost-api', plugin: sparkpost, status: 200 },
    settings: { api_key: 'bench' },
    body: (id) => JSON.stringify({ results: { total_rejected_recipients: 0, total_accepted_recipients: 1, id } }),
  },
  {
    ...{ type: 'brevo-api', plugin: brevo, status: 201 },
    settings: { api_key: 'xkeysib-bench' },
    body: (id) => JSON.stringify({ messageId: `<${id}@bench.example>` }),
  },
  {
    ...{ type: 'elasticemail-api', plugin: elasticEmail, status: 200 },
    settings: { api_key: 'bench' },
    body: (id) => JSON.stringify({ TransactionID: `t-${id}`, MessageID: `message-${id}` }),
  },
];
