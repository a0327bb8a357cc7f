/** Plugins (specification 4.11 and decision D39). */
import { z } from 'zod';
import type { RestPluginFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { actionShape, answersBody, timeShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const pluginShape = z
  .strictObject({
    vendor: z.string(),
    name: z.string(),
    version: z.string(),
    title: z.string(),
    description: z.string(),
    status: z.enum(['inactive', 'active']),
    is_bundled: z.boolean().meta({ description: 'It is part of the product.' }),
    is_live: z.boolean().meta({ description: 'Its hooks are live in the process that answers.' }),
    fault: z.string().nullable().meta({ description: 'Why its folder or code cannot be used; null: it can.' }),
    error: z.string().nullable().meta({ description: 'Why the last activation failed; null: it did not.' }),
    activated_at: timeShape.nullable(),
    first_activated_at: timeShape.nullable(),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'Plugin' });

export const pluginRows = [
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
      'Migrations of the plugin that were not applied yet are run. When anything fails, nothing is changed, and `error` of the plugin has the reason.',
    answers: answersBody(actionShape({ plugin: pluginShape })),
    operation: 'ActivatePlugin',
    variables: (input) => ({ input: keyOf(input) }),
    present: ({ activatePlugin }) => done('The plugin was activated', { plugin: presentPlugin(activatePlugin) }),
  }),
  endpoint({
    method: 'POST',
    path: '/plugins/:vendor/:name/deactivate',
    access: 'admin',
    summary: 'Deactivates a plugin: its folder and its tables stay.',
    answers: answersBody(actionShape({ plugin: pluginShape })),
    operation: 'DeactivatePlugin',
    variables: (input) => ({ input: keyOf(input) }),
    present: ({ deactivatePlugin }) => done('The plugin was deactivated', { plugin: presentPlugin(deactivatePlugin) }),
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

function keyOf(input: Input) {
  return { vendor: input.param('vendor'), name: input.param('name') };
}

function presentPlugin(plugin: RestPluginFragment) {
  return {
    vendor: plugin.vendor,
    name: plugin.name,
    version: plugin.version,
    title: plugin.title,
    description: plugin.description,
    status: plugin.status === 'ACTIVE' ? 'active' : 'inactive',
    is_bundled: plugin.isBundled,
    is_live: plugin.isLive,
    fault: plugin.fault ?? null,
    error: plugin.error ?? null,
    activated_at: plugin.activatedAt ? restTime(plugin.activatedAt) : null,
    first_activated_at: plugin.firstActivatedAt ? restTime(plugin.firstActivatedAt) : null,
    created_at: restTime(plugin.createdAt),
    updated_at: restTime(plugin.updatedAt),
  };
}
