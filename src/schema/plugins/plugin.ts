/** A plugin as administrators see it. */
import { flowsWithPlugin } from '../../domain/flow-uses/flow-use-read-model.ts';
import { flowsNamed } from '../../domain/flow-uses/flow-use.ts';
import type { PluginKey } from '../../domain/plugin-host.ts';
import { faultOf, hostOf } from '../../domain/plugins/find-plugin.ts';
import { rightsToGrant } from '../../domain/plugins/grant-rights.ts';
import { fullName, type Plugin as PluginRow } from '../../domain/plugins/plugin.ts';
import { NO_RIGHTS, type PluginRights } from '../../plugin-api/index.ts';
import { builder } from '../builder.ts';

const forAdministrators = { admin: true } as const;

const PluginStatus = builder.enumType('PluginStatus', {
  description: 'The state of a plugin.',
  values: {
    INACTIVE: { value: 'inactive', description: 'It was found, or deactivated: nothing of it has an effect.' },
    ACTIVE: { value: 'active', description: 'Its hooks are live in all processes.' },
  } as const,
});

const PluginRightsType = builder.objectRef<PluginRights>('PluginRights').implement({
  description: 'What a plugin may use beside its own code.',
  authScopes: forAdministrators,
  fields: (t) => ({
    scopes: t.stringList({ description: 'GraphQL scopes.', resolve: ({ scopes }) => [...scopes] }),
    forAllCustomers: t.boolean({
      description: 'Whether it acts for all customers; false: for those that have switched it on.',
      resolve: ({ customers }) => customers === 'all',
    }),
    hooks: t.stringList({
      description: 'Hooks for which it registers; `page.*` means all that begin so.',
      resolve: ({ hooks }) => [...hooks],
    }),
    hosts: t.stringList({ description: 'Hosts that it calls.', resolve: ({ hosts }) => [...hosts] }),
    browserHosts: t.stringList({
      description: 'Hosts to which its routes may send a browser.',
      resolve: ({ browserHosts }) => [...browserHosts],
    }),
    tables: t.exposeBoolean('tables', { description: 'Whether it has tables of its own.' }),
  }),
});

const ERROR = 'Why the last activation failed, or why it was switched off; null: neither.';
const WAITING = 'An installed version that is used from the next activation on.';

export const Plugin = builder.objectRef<PluginRow>('Plugin').implement({
  description: 'A plugin: a folder of the program, or one that the operator has added.',
  authScopes: forAdministrators,
  fields: (t) => ({
    vendor: t.exposeString('vendor'),
    name: t.exposeString('name', { description: 'Unique for its vendor.' }),
    version: t.exposeString('version', { description: 'While it is active: of the code that runs.' }),
    title: t.exposeString('title'),
    description: t.exposeString('description'),
    status: t.field({
      type: PluginStatus,
      resolve: ({ status }) => (status === 'active' ? 'active' : 'inactive'),
    }),
    isBundled: t.exposeBoolean('isBundled', { description: 'It is part of the product.' }),
    isLive: t.boolean({
      description: 'Whether its hooks are live in the process that answers.',
      resolve: (plugin, _args, ctx) => hostOf(ctx).isLive(plugin),
    }),
    fault: t.string({
      nullable: true,
      description:
        'Why its folder or code cannot be used, or what of it was left out, as the process that answers sees it; null: all of it can be used.',
      resolve: (plugin, _args, ctx) => faultOf(ctx, plugin) ?? ctx.hooks.leftOut(fullName(plugin)) ?? null,
    }),
    error: t.exposeString('error', { nullable: true, description: ERROR }),
    switchedOffAt: t.expose('switchedOffAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When Mailwright has switched it off, because it has ended processes; null: it has not. `error` has the reason. Its code is not loaded before it is activated again.',
    }),
    waitingVersion: t.exposeString('waitingVersion', { nullable: true, description: WAITING }),
    formerVersion: t.exposeString('formerVersion', {
      nullable: true,
      description: 'The installed version that was used before; `rollBackPlugin` goes back to it.',
    }),
    wants: t.field({
      type: PluginRightsType,
      description: 'What the manifest in its folder asks for, as the process that answers sees it.',
      resolve: (plugin, _args, ctx) => hostOf(ctx).found(plugin)?.wants ?? NO_RIGHTS,
    }),
    granted: t.field({
      type: PluginRightsType,
      nullable: true,
      description: 'What an administrator has granted; null: nothing yet.',
      resolve: ({ granted }) => granted,
    }),
    grantedAt: t.expose('grantedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The last change of the grant.',
    }),
    isNewGrantNeeded: t.boolean({
      description:
        'Whether the version that waits, or else the one in its folder, asks for more than was granted: `activatePlugin` needs your agreement. Until then an active plugin runs as it was.',
      resolve: async (plugin, _args, ctx) => (await rightsToGrant(ctx, plugin)) !== undefined,
    }),
    newRights: t.field({
      type: PluginRightsType,
      nullable: true,
      description: 'What the next activation grants beyond what was granted before; null: nothing.',
      resolve: async (plugin, _args, ctx) => (await rightsToGrant(ctx, plugin)) ?? null,
    }),
    activatedAt: t.expose('activatedAt', { type: 'DateTime', nullable: true, description: 'The last activation.' }),
    firstActivatedAt: t.expose('firstActivatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its hook `activate_plugin_<vendor>/<name>` was fired.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was found.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

builder.objectField(Plugin, 'usedByAutomations', (t) =>
  t.stringList({
    description:
      'Active automations of all customers that ask it or wait for its events, with the places in their flows: the first five. While it is not active, people wait there.',
    resolve: async (plugin, _args, ctx) => [...flowsNamed(await flowsWithPlugin(ctx.db, fullName(plugin)))],
  }),
);

export const DeletedPlugin = builder.objectRef<PluginKey>('DeletedPlugin').implement({
  authScopes: forAdministrators,
  fields: (t) => ({ vendor: t.exposeString('vendor'), name: t.exposeString('name') }),
});
