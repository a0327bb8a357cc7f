/** A plugin in answers. */
import { z } from 'zod';
import type { RestPluginFragment, RestPluginRightsFragment } from '../../generated/operations.ts';
import type { Input } from '../input.ts';
import { timeShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const rightsShape = z
  .strictObject({
    scopes: z.array(z.string()).meta({ description: 'GraphQL scopes.' }),
    for_all_customers: z.boolean().meta({ description: 'false: for those that have switched it on.' }),
    hooks: z.array(z.string()),
    hosts: z.array(z.string()).meta({ description: 'Hosts that it calls.' }),
    browser_hosts: z.array(z.string()).meta({ description: 'Hosts to which its routes may send a browser.' }),
    tables: z.boolean().meta({ description: 'It has tables of its own.' }),
  })
  .meta({ id: 'PluginRights' });

export const pluginShape = z
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
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the last activation failed, or why it was switched off; null: neither.' }),
    switched_off_at: timeShape.nullable().meta({
      description: 'When Mailwright has switched it off, because it has ended processes; null: it has not.',
    }),
    waiting_version: z
      .string()
      .nullable()
      .meta({ description: 'An installed version that is used from the next activation on.' }),
    former_version: z.string().nullable().meta({ description: 'The installed version that was used before.' }),
    wants: rightsShape.meta({ description: 'What the manifest in its folder asks for.' }),
    granted: rightsShape.nullable().meta({ description: 'What an administrator has granted; null: nothing yet.' }),
    granted_at: timeShape.nullable(),
    is_new_grant_needed: z.boolean().meta({ description: 'It asks for more than was granted.' }),
    new_rights: rightsShape.nullable().meta({
      description: 'What the next activation grants beyond what was granted before; null: nothing.',
    }),
    activated_at: timeShape.nullable(),
    first_activated_at: timeShape.nullable(),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'Plugin' });

export function keyOf(input: Input) {
  return { vendor: input.param('vendor'), name: input.param('name') };
}

export function presentPlugin(plugin: RestPluginFragment) {
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
    switched_off_at: plugin.switchedOffAt ? restTime(plugin.switchedOffAt) : null,
    waiting_version: plugin.waitingVersion ?? null,
    former_version: plugin.formerVersion ?? null,
    wants: presentRights(plugin.wants),
    granted: plugin.granted ? presentRights(plugin.granted) : null,
    granted_at: plugin.grantedAt ? restTime(plugin.grantedAt) : null,
    is_new_grant_needed: plugin.isNewGrantNeeded,
    new_rights: plugin.newRights ? presentRights(plugin.newRights) : null,
    activated_at: plugin.activatedAt ? restTime(plugin.activatedAt) : null,
    first_activated_at: plugin.firstActivatedAt ? restTime(plugin.firstActivatedAt) : null,
    created_at: restTime(plugin.createdAt),
    updated_at: restTime(plugin.updatedAt),
  };
}

function presentRights({ scopes, forAllCustomers, hooks, hosts, browserHosts, tables }: RestPluginRightsFragment) {
  return { scopes, for_all_customers: forAllCustomers, hooks, hosts, browser_hosts: browserHosts, tables };
}
