/** Plugins (specification 4.11 and decision D39). */
import { z } from 'zod';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody } from '../shapes.ts';
import { textsIn } from '../text-list.ts';
import { pluginJobRows } from './job-routes.ts';
import { pluginPackageRows } from './package-routes.ts';
import { keyOf, pluginShape, presentPlugin } from './present.ts';

export const pluginRows = [
  ...pluginPackageRows,
  ...pluginJobRows,
  endpoint({
    method: 'GET',
    path: '/plugins',
    access: 'admin',
    summary: 'Lists all plugins.',
    answers: answersBody(z.array(pluginShape)),
    operation: 'Plugins',
    variables: () => ({}),
    present: ({ plugins }) => ok(plugins.nodes.map(presentPlugin)),
  }),
  endpoint({
    method: 'POST',
    path: '/plugins/:vendor/:name/activate',
    access: 'admin',
    summary: 'Activates a plugin, without a restart.',
    details:
      'Hooks and tables that the plugin asks for are granted by that. `scopes`, `hosts`, `browser_hosts` (arrays, or texts with commas) and `for_all_customers` must be named if it asks for them: without them the answer is 422 and says which. Migrations of the plugin that were not applied yet are run. When anything fails, nothing is changed, and `error` of the plugin has the reason.',
    answers: answersBody(actionShape({ plugin: pluginShape })),
    operation: 'ActivatePlugin',
    variables: (input) => ({
      input: {
        ...keyOf(input),
        scopes: textsIn(input, 'scopes'),
        hosts: textsIn(input, 'hosts'),
        browserHosts: textsIn(input, 'browser_hosts'),
        forAllCustomers: input.flag('for_all_customers'),
      },
    }),
    present: ({ activatePlugin }) => done('The plugin was activated', { plugin: presentPlugin(activatePlugin) }),
  }),
  endpoint({
    method: 'POST',
    path: '/plugins/:vendor/:name/deactivate',
    access: 'admin',
    summary: 'Deactivates a plugin: its folder and its tables stay.',
    details:
      '`used_by_automations`: active automations of all customers that ask it or wait for its events, with the places in their flows, the first five. People wait there until it is active again.',
    answers: answersBody(actionShape({ plugin: pluginShape, used_by_automations: z.array(z.string()) })),
    operation: 'DeactivatePlugin',
    variables: (input) => ({ input: keyOf(input) }),
    present: ({ deactivatePlugin: { usedByAutomations, ...plugin } }) =>
      done('The plugin was deactivated', {
        plugin: presentPlugin(plugin),
        used_by_automations: usedByAutomations,
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/plugins/:vendor/:name',
    access: 'admin',
    summary: 'Deletes an inactive plugin with its folder.',
    details:
      '`keep_data` is true by default: its tables stay. With false its migrations are taken back, and its tables dropped. An active plugin is refused: deactivate it first. A plugin of the product cannot be deleted.',
    answers: answersBody(actionShape({ plugin: z.string().meta({ description: '`vendor/name`' }) })),
    operation: 'DeletePlugin',
    variables: (input) => ({ input: { ...keyOf(input), keepData: input.flag('keep_data') } }),
    present: ({ deletePlugin: { vendor, name } }) => done('Deleted', { plugin: `${vendor}/${name}` }),
  }),
];
