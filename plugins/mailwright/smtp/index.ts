/** The bundled driver `smtp`: any server that speaks SMTP. */
import { definePlugin } from '../../../src/plugin-api/index.ts';
import { FORMER_CONNECTIONS, validateSettings } from './settings.ts';
import { connectSmtp } from './smtp-driver.ts';

export const plugin = definePlugin({
  name: 'mailwright/smtp',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      type: 'smtp',
      name: 'SMTP',
      description: 'Sends through any SMTP server: your own, or that of a provider.',
      configKeys: [
        'host',
        'port',
        'encryption',
        'username',
        'password',
        'auth',
        'oauth_access_token',
        'oauth_refresh_token',
        'oauth_token_url',
        'oauth_client_id',
        'oauth_client_secret',
        'allow_invalid_certificate',
        'max_connections',
        'window',
        'messages_per_connection',
        'idle_seconds',
      ],
      formerKeys: { [FORMER_CONNECTIONS]: 'max_connections' },
      secretKeys: ['password', 'oauth_access_token', 'oauth_refresh_token', 'oauth_client_secret'],
      releasesContent: true,
      senders: { domains: 'here', addresses: 'here', areShared: true },
      validate: validateSettings,
      connect: connectSmtp,
    });
  },
});
