/** The bundled drivers `brevo-api` and `brevo-smtp`. */
import {
  definePlugin,
  smtpPreset,
  WEBHOOK_KEYS,
  webhookFields,
  type SenderRule,
} from '../../../src/plugin-api/index.ts';
import { connectBrevo, validateBrevo } from './brevo-api.ts';
import { brevoSenders } from './brevo-senders.ts';
import { ownIdHeader } from './own-id.ts';
import { webhook } from './webhook.ts';

const SENDERS: SenderRule = { domains: 'vendor', addresses: 'vendor', areShared: false };

export const plugin = definePlugin({
  name: 'mailwright/brevo',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      type: 'brevo-api',
      name: 'Brevo (API)',
      description:
        'Sends through the web interface of Brevo. Bounces and complaints come by webhook, which Brevo does not sign: keep its address secret.',
      configKeys: ['api_key', 'max_connections', 'endpoint', ...WEBHOOK_KEYS],
      secretKeys: ['api_key', ...WEBHOOK_KEYS],
      releasesContent: true,
      signsDkim: true,
      replacesReturnPath: true,
      senders: SENDERS,
      sendsParts: true,
      validate: validateBrevo,
      connect: connectBrevo,
      identities: brevoSenders,
      webhook,
    });
    hooks.add(
      'register_sending_server_driver',
      smtpPreset({
        type: 'brevo-smtp',
        name: 'Brevo (SMTP)',
        description:
          'Sends through the SMTP server of Brevo. Bounces and complaints come by webhook, which Brevo does not sign: keep its address secret.',
        hosts: { '': 'smtp-relay.brevo.com' },
        ports: [587, 2525],
        more: webhookFields,
        secretKeys: WEBHOOK_KEYS,
        headersOf: ({ idempotencyKey }) => {
          const [name, value] = ownIdHeader(idempotencyKey);
          return `${name}: ${value}\r\n`;
        },
        // No document says what id its reply has; events name the message by our own.
        replacesReturnPath: true,
        senders: SENDERS,
        webhook,
      }),
    );
  },
});
