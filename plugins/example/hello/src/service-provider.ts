/** Registers what the plugin adds. */
import type { HookRegistration, PluginServices } from 'mailwright/plugin-api';
import { driver } from './driver.ts';
import { graphql } from './graphql.ts';

const page = { label: { key: 'title' }, href: '/plugins/example/hello' };

/** Runs when the plugin is found: drivers and translations, which take effect when it is active. */
export function register(hooks: HookRegistration): void {
  hooks.add('register_sending_server_driver', driver);
  for (const language of ['en', 'de']) hooks.add('add_translation_file', { language, file: `${language}.json` });
}

/** Runs when the plugin becomes active: everything else. */
export function boot(hooks: HookRegistration, { log, translate }: PluginServices): void {
  // REGISTRY: entries of all plugins are collected.
  hooks.add('admin.sidebar.groups', { label: { key: 'title' }, items: [page] });
  hooks.add('graphql_part', graphql(translate));

  // EVENT: something has happened. It may come twice.
  hooks.on('activate_plugin_example/hello', () => log.info('hello'));
  hooks.on('customer_added', ({ uid }) => hooks.calls.fire('example-hello.greeted', { customer: uid }));

  // BEHAVIOR: one plugin does it in place of Mailwright.
  hooks.setIfEmpty('dispatch_list_import_job', async ({ importUid, run }) => {
    log.info('import_comes', { importUid });
    await run();
  });

  // FILTER: a value is changed on its way.
  hooks.modify('sidebar-menu-items', (items) => [...items, page]);
}
