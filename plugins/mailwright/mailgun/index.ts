/** The bundled drivers `mailgun-api` and `mailgun-smtp`. */
import { definePlugin, smtpPreset } from '../../../src/plugin-api/index.ts';
import { connectMailgun, REGIONS, validateMailgun } from './mailgun-api.ts';
import { mailgunDomains } from './mailgun-domains.ts';
import { SIGNING_KEY, signingKeyField, webhook } from './webhook.ts';

export const plugin = definePlugin({
  name: 'mailwright/mailgun',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      type: 'mailgun-api',
      name: 'Mailgun (API)',
      description: 'Sends through the web interface of Mailgun. Bounces and complaints come by webhook.',
      configKeys: ['region', 'domain', 'api_key', SIGNING_KEY, 'max_connections', 'endpoint'],
      secretKeys: ['api_key', SIGNING_KEY],
      releasesContent: true,
      replacesReturnPath: true,
      reportKeys: [SIGNING_KEY],
      validate: validateMailgun,
      connect: connectMailgun,
      identities: mailgunDomains,
      webhook,
    });
    hooks.add(
      'register_sending_server_driver',
      smtpPreset({
        type: 'mailgun-smtp',
        name: 'Mailgun (SMTP)',
        description: 'Sends through the SMTP servers of Mailgun. Bounces and complaints come by webhook.',
        hosts: { us: REGIONS.us.smtp, eu: REGIONS.eu.smtp },
        ports: [587, 465, 2525, 25],
        more: { [SIGNING_KEY]: signingKeyField },
        secretKeys: [SIGNING_KEY],
        headersOf: ({ idempotencyKey }) => `X-Mailgun-Variables: {"mailwright_id": "${idempotencyKey}"}\r\n`,
        replacesReturnPath: true,
        reportKeys: [SIGNING_KEY],
        webhook,
      }),
    );
  },
});
