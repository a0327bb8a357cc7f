/** The bundled driver `smtp`: any server that speaks SMTP. */
import { definePlugin } from '../../../src/plugin-api/index.ts';
import { validateSettings } from './settings.ts';
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
        'allow_invalid_certificate',
        'connections',
        'window',
      ],
      secretKeys: ['password'],
      validate: validateSettings,
      connect: connectSmtp,
    });
  },
});
