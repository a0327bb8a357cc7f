/** The bundled drivers `sendgrid-api` and `sendgrid-smtp`. */
import { definePlugin, smtpPreset, type OutgoingMessage, type SenderRule } from '../../../src/plugin-api/index.ts';
import { connectSendGrid, REGIONS, validateSendGrid } from './sendgrid-api.ts';
import { sendGridSenders } from './sendgrid-senders.ts';
import { OWN_ID, PUBLIC_KEY, publicKeyField, webhook } from './webhook.ts';

const SENDERS: SenderRule = { domains: 'vendor', addresses: 'vendor', areShared: false };

export const plugin = definePlugin({
  name: 'mailwright/sendgrid',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      type: 'sendgrid-api',
      name: 'SendGrid (API)',
      description: 'Sends through the web interface of Twilio SendGrid. Bounces and complaints come by webhook.',
      configKeys: ['region', 'api_key', PUBLIC_KEY, 'max_connections', 'endpoint'],
      secretKeys: ['api_key'],
      releasesContent: true,
      sendsParts: true,
      signsDkim: true,
      replacesReturnPath: true,
      senders: SENDERS,
      reportKeys: [PUBLIC_KEY],
      validate: validateSendGrid,
      connect: connectSendGrid,
      identities: sendGridSenders,
      webhook,
    });
    hooks.add(
      'register_sending_server_driver',
      smtpPreset({
        type: 'sendgrid-smtp',
        name: 'SendGrid (SMTP)',
        description: 'Sends through the SMTP servers of Twilio SendGrid. Bounces and complaints come by webhook.',
        hosts: { global: REGIONS.global.smtp, eu: REGIONS.eu.smtp },
        ports: [587, 465, 2525, 25],
        // Everybody's user name; the password is an API key.
        username: 'apikey',
        more: { [PUBLIC_KEY]: publicKeyField },
        headersOf: smtpApiHeader,
        // The documents do not say that this id is the one of the reports. They name the message by our own id in any case.
        idOf: (reply) => /\bqueued as ([\w-]{8,100})/i.exec(reply)?.[1],
        replacesReturnPath: true,
        senders: SENDERS,
        reportKeys: [PUBLIC_KEY],
        webhook,
      }),
    );
  },
});

/** SendGrid's instructions, which it removes: our id for its reports, and nothing of its own in the message. Each line is short. */
function smtpApiHeader({ idempotencyKey }: OutgoingMessage): string {
  const off = ['clicktrack', 'opentrack', 'subscriptiontrack', 'ganalytics', 'footer']
    .map((name) => `"${name}": {"settings": {"enable": 0}}`)
    .join(',\r\n ');
  return `X-SMTPAPI: {"unique_args": {"${OWN_ID}": "${idempotencyKey}"},\r\n "filters": {${off}}}\r\n`;
}
