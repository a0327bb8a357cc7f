/** The bundled driver `sendmail`, and `php-mail`, the same under the name that plans and clients know: the mail program of this machine. */
import { definePlugin, type SendingDriverRegistration } from '../../../src/plugin-api/index.ts';
import { connectSendmail } from './sendmail-driver.ts';
import { SETTINGS, validateSettings } from './settings.ts';

const common = {
  configKeys: SETTINGS,
  secretKeys: [],
  programKeys: ['path'],
  releasesContent: true,
  senders: { domains: 'here', addresses: 'here', areShared: true },
  validate: validateSettings,
  connect: connectSendmail,
} satisfies Partial<SendingDriverRegistration>;

export const plugin = definePlugin({
  name: 'mailwright/sendmail',
  register(hooks) {
    hooks.add('register_sending_server_driver', {
      ...common,
      type: 'sendmail',
      name: 'Sendmail',
      description: 'Hands mail to the mail program of this machine, such as Postfix or Exim. For administrators only.',
    });
    hooks.add('register_sending_server_driver', {
      ...common,
      type: 'php-mail',
      name: 'PHP mail',
      description: 'The same as Sendmail, which is what the mail function of PHP uses. For administrators only.',
    });
  },
});
