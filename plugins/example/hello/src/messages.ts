/** What messages and imports get from the plugin. */
import type { HookRegistration } from 'mailwright/plugin-api';

export function addToMessages(hooks: HookRegistration): void {
  hooks.add('merge_tag', {
    ...{ tag: 'EXAMPLE_GREETING', title: 'A greeting', fallback: 'Hello' },
    values: async (all) => Object.fromEntries(all.map(({ subscriberUid: uid, email }) => [uid, `Hi ${email}`])),
  });
  hooks.add('liquid_filter', { name: 'example_shout', module: './liquid/shout.ts', export: 'shout' });
  hooks.add('mail_template', { key: 'hello', title: 'Hello', language: 'en', subject: 'Hello', html: '<p>Hello</p>' });
  hooks.modify('message_composed', (it) => ({ ...it, subject: `${it.subject}!` }));
  hooks.modify('before_message_sent', (it) => (it.email.startsWith('no@') ? { ...it, skip: { reason: 'No.' } } : it));
  hooks.modify('import_row', (it) => (it.values['EMAIL'] === 'a@b.test' ? { ...it, refuse: { reason: 'No.' } } : it));
}
