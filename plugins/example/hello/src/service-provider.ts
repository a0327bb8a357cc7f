/** Registers what the plugin adds. */
import type { HookRegistration, PluginServices } from 'mailwright/plugin-api';
import { driver } from './driver.ts';
import { graphql, page, row } from '../routes.ts';
import { addToMessages } from './messages.ts';

const item = { label: { key: 'title' }, href: '/plugins/example/hello' };

/** Runs when the plugin is found: drivers and translations, which take effect when it is active. */
export function register(hooks: HookRegistration): void {
  hooks.add('register_sending_server_driver', driver);
  for (const language of ['en', 'de']) hooks.add('add_translation_file', { language, file: `${language}.json` });
}

/** Runs when the plugin becomes active: everything else. */
export function boot(hooks: HookRegistration, { jobs, log, translate }: PluginServices): void {
  // REGISTRY: entries of all plugins are collected.
  hooks.add('admin.sidebar.groups', { label: { key: 'title' }, items: [item] });
  hooks.add('graphql_part', graphql(translate));
  hooks.add('rest_row', row);
  hooks.add('route', page);
  hooks.add('job', { name: 'greet', run: async ({ customer }) => log.info('greeted', { customer }) });
  hooks.add('daily_task', { name: 'day', hour: 6, run: () => log.info('good_morning') });

  // EVENT: something has happened. It may come twice.
  hooks.on('customer_added', async ({ uid }) => {
    await jobs.enqueue('greet', { customer: uid });
    await hooks.calls.fire('example-hello.greeted', { customer: uid });
  });

  // BEHAVIOR: one plugin does it in place of Mailwright.
  hooks.setIfEmpty('dispatch_list_import_job', ({ run }) => run());

  // FILTER: a value is changed on its way.
  hooks.modify('sidebar-menu-items', (items) => [...items, item]);
  addToMessages(hooks);
}
