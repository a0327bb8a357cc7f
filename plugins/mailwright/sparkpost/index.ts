/** The bundled drivers `sparkpost-api` and `sparkpost-smtp`. */
import {
  definePlugin,
  smtpPreset,
  WEBHOOK_KEYS,
  webhookFields,
  type OutgoingMessage,
  type SenderRule,
} from '../../../src/plugin-api/index.ts';
import { connectSparkPost, OPTIONS, REGIONS, validateSparkPost } from './sparkpost-api.ts';
import { sparkPostDomains } from './sparkpost-domains.ts';
import { OWN_ID, webhook } from './webhook.ts';

/** Its advice for SMTP. */
const MESSAGES_PER_CONNECTION = 100;

const SENDERS: SenderRule = { domains: 'vendor', addresses: 'none', areShared: false };

export const plugin = definePlugin({
  name: 'mailwright/sparkpost',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      type: 'sparkpost-api',
      name: 'SparkPost (API)',
      description:
        'Sends through the web interface of SparkPost (Bird). Bounces and complaints come by webhook, to a secret address: SparkPost signs nothing.',
      configKeys: ['region', 'api_key', ...WEBHOOK_KEYS, 'max_connections', 'endpoint'],
      secretKeys: ['api_key', 'webhook_key', 'webhook_password'],
      releasesContent: true,
      replacesReturnPath: true,
      senders: SENDERS,
      validate: validateSparkPost,
      connect: connectSparkPost,
      identities: sparkPostDomains,
      webhook,
    });
    hooks.add(
      'register_sending_server_driver',
      smtpPreset({
        type: 'sparkpost-smtp',
        name: 'SparkPost (SMTP)',
        description:
          'Sends through the SMTP servers of SparkPost (Bird). Bounces and complaints come by webhook, to a secret address: SparkPost signs nothing.',
        hosts: { us: REGIONS.us.smtp, eu: REGIONS.eu.smtp },
        ports: [587, 2525],
        // Everybody's user name; the password is an API key.
        username: 'SMTP_Injection',
        messagesPerConnection: MESSAGES_PER_CONNECTION,
        more: webhookFields,
        secretKeys: ['webhook_key', 'webhook_password'],
        headersOf: instructions,
        // What its reply has as an id is not documented: its reports name the message by our own.
        replacesReturnPath: true,
        senders: SENDERS,
        webhook,
      }),
    );
  },
});

/** SparkPost's instructions, which it removes. By SMTP it knows no templates. */
function instructions({ idempotencyKey }: OutgoingMessage): string {
  const options = Object.entries(OPTIONS).map(([name, value]) => `"${name}": ${value}`);
  return `X-MSYS-API: {"metadata": {"${OWN_ID}": "${idempotencyKey}"},\r\n "options": {${options.join(',\r\n ')}}}\r\n`;
}
