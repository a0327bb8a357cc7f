/** The bundled drivers `amazon-api` and `amazon-smtp`. */
import {
  definePlugin,
  smtpPreset,
  type DriverSettings,
  type OutgoingMessage,
  type SenderRule,
} from '../../../src/plugin-api/index.ts';
import { connectAmazon, validateAmazon } from './amazon-api.ts';
import { amazonIdentities } from './identities.ts';
import { reportFields, SMTP_REGIONS, TAG, tagOf, TOPIC_SETTING } from './settings.ts';
import { snsWebhook } from './webhook.ts';

const SENDERS: SenderRule = { domains: 'vendor', addresses: 'vendor', areShared: false };

export const plugin = definePlugin({
  name: 'mailwright/amazon',
  register(hooks, services) {
    const webhook = snsWebhook(services);
    hooks.add('register_sending_server_driver', {
      type: 'amazon-api',
      name: 'Amazon SES (API)',
      description:
        'Sends through the web interface of Amazon SES. Bounces and complaints come by a topic of Amazon SNS.',
      configKeys: [
        ...['region', 'access_key_id', 'secret_access_key', 'configuration_set', TOPIC_SETTING],
        ...['max_connections', 'endpoint'],
      ],
      secretKeys: ['secret_access_key'],
      releasesContent: true,
      // It replaces headers that ours covers.
      signsDkim: true,
      replacesReturnPath: true,
      senders: SENDERS,
      reportKeys: [TOPIC_SETTING],
      validate: validateAmazon,
      connect: connectAmazon,
      identities: amazonIdentities,
      webhook,
    });
    hooks.add(
      'register_sending_server_driver',
      smtpPreset({
        type: 'amazon-smtp',
        name: 'Amazon SES (SMTP)',
        description:
          'Sends through the SMTP servers of Amazon SES. Bounces and complaints come by a topic of Amazon SNS.',
        hosts: Object.fromEntries(SMTP_REGIONS.map((region) => [region, `email-smtp.${region}.amazonaws.com`])),
        ports: [587, 465, 2587, 2465, 25],
        more: reportFields,
        signsDkim: true,
        headersOf: (message, { configuration_set: set }) => headersOf(message, set),
        // The same id that events have.
        idOf: (reply) => /^250 Ok ([\w-]{16,100})\s*$/i.exec(reply)?.[1],
        replacesReturnPath: true,
        senders: SENDERS,
        reportKeys: [TOPIC_SETTING],
        webhook,
      }),
    );
  },
});

/** SES takes these lines out of the message. */
function headersOf({ idempotencyKey }: OutgoingMessage, set: DriverSettings[string] | undefined): string {
  const tag = `X-SES-MESSAGE-TAGS: ${TAG}=${tagOf(idempotencyKey)}\r\n`;
  return set === undefined ? tag : `${tag}X-SES-CONFIGURATION-SET: ${set}\r\n`;
}
