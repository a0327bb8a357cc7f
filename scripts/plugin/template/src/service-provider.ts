/** What the plugin adds to Mailwright. */
import type { HookRegistration, PluginServices } from 'mailwright/plugin-api';

/** Runs when the plugin becomes active. What is registered here takes effect as long as it is active. */
export function boot(hooks: HookRegistration, { log }: PluginServices): void {
  hooks.on('activate_plugin_vendorname/pluginname', () => log.info('activated_for_the_first_time'));
  hooks.on('customer_added', ({ uid }) => log.info('saw_customer', { customer: uid }));
  hooks.modify('sidebar-menu-items', (items) => [
    ...items,
    { label: 'Plugin title', href: '/plugins/vendorname/pluginname' },
  ]);
}
