/** The bundled drivers `elasticemail-api` and `elasticemail-smtp`. */
import {
  definePlugin,
  smtpPreset,
  WEBHOOK_KEYS,
  webhookFields,
  type SenderRule,
} from '../../../src/plugin-api/index.ts';
import { connectElasticEmail, validateElasticEmail } from './elasticemail-api.ts';
import { elasticDomains } from './elasticemail-domains.ts';
import { webhook } from './webhook.ts';

const SENDERS: SenderRule = { domains: 'vendor', addresses: 'vendor', areShared: false };

export const plugin = definePlugin({
  name: 'mailwright/elasticemail',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      type: 'elasticemail-api',
      name: 'Elastic Email (API)',
      description:
        'Sends through the web interface of Elastic Email. Bounces and complaints come by webhook, whose signature is not checked: keep its address secret.',
      configKeys: ['api_key', 'max_connections', 'endpoint', ...WEBHOOK_KEYS],
      secretKeys: ['api_key', ...WEBHOOK_KEYS],
      releasesContent: true,
      sendsParts: true,
      signsDkim: true,
      replacesReturnPath: true,
      senders: SENDERS,
      validate: validateElasticEmail,
      connect: connectElasticEmail,
      identities: elasticDomains,
      webhook,
    });
    hooks.add(
      'register_sending_server_driver',
      smtpPreset({
        type: 'elasticemail-smtp',
        name: 'Elastic Email (SMTP)',
        description:
          'Sends through the SMTP server of Elastic Email. Bounces and complaints come by webhook, whose signature is not checked: keep its address secret.',
        hosts: { '': 'smtp.elasticemail.com' },
        ports: [2525, 587, 465, 25],
        more: webhookFields,
        secretKeys: WEBHOOK_KEYS,
        // Only where custom headers are enabled in the account. No document says what id its reply has.
        headersOf: ({ idempotencyKey }) => `X-ElasticEmail-Postback: ${idempotencyKey}\r\n`,
        replacesReturnPath: true,
        senders: SENDERS,
        webhook,
      }),
    );
  },
});
