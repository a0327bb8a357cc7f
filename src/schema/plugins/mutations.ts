/** Finding, activating, deactivating and deleting plugins. */
import { RECENT_LOGIN } from '../../domain/accounts/require-recent-login.ts';
import { activatePlugin } from '../../domain/plugins/activate-plugin.ts';
import { deactivatePlugin } from '../../domain/plugins/deactivate-plugin.ts';
import { deletePlugin } from '../../domain/plugins/delete-plugin.ts';
import { discoverPlugins } from '../../domain/plugins/discover-plugins.ts';
import { plugins } from '../../domain/plugins/find-plugin.ts';
import { activationInput, pluginKeyInput } from '../../domain/plugins/plugin.ts';
import { builder } from '../builder.ts';
import { DeletedPlugin, Plugin } from './plugin.ts';

const forAdministrators = { admin: true } as const;
/** Each may run scripts of a plugin. */
const ONCE = { executionsMax: 1 } as const;

builder.mutationField('discoverPlugins', (t) =>
  t.field({
    type: [Plugin],
    description: 'Looks for plugins in the folders now; it also happens twice a minute. Answers all plugins.',
    authScopes: forAdministrators,
    ...ONCE,
    resolve: async (_root, _args, ctx) => {
      await discoverPlugins(ctx);
      return [...(await plugins(ctx))];
    },
  }),
);

builder.mutationField('activatePlugin', (t) =>
  t.fieldWithInput({
    type: Plugin,
    description: `Activates a plugin in all processes, without a restart, and grants it what it asks for. Scopes, hosts and all customers must be named: without them \`PLUGIN_GRANT_NEEDED\` says which. Migrations that were not applied yet are run. When it fails, nothing is changed, and \`error\` of the plugin has the reason. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    typeOptions: { checks: activationInput.shape },
    ...ONCE,
    input: {
      vendor: t.input.string({ required: true }),
      name: t.input.string({ required: true }),
      scopes: t.input.stringList({ description: 'The GraphQL scopes that you grant, beside those granted before.' }),
      hosts: t.input.stringList({ description: 'The hosts that you allow it to call, beside those allowed before.' }),
      browserHosts: t.input.stringList({
        description: 'The hosts to which you allow it to send browsers, beside those allowed before.',
      }),
      forAllCustomers: t.input.boolean({
        description: 'true: it may act for all customers. Otherwise for those that have switched it on.',
      }),
    },
    resolve: (_root, { input }, ctx) => activatePlugin(ctx, input),
  }),
);

builder.mutationField('deactivatePlugin', (t) =>
  t.fieldWithInput({
    type: Plugin,
    description: 'Takes the hooks of a plugin back in all processes. Its folder and its tables stay.',
    authScopes: forAdministrators,
    typeOptions: { checks: pluginKeyInput.shape },
    input: { vendor: t.input.string({ required: true }), name: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => deactivatePlugin(ctx, input),
  }),
);

builder.mutationField('deletePlugin', (t) =>
  t.fieldWithInput({
    type: DeletedPlugin,
    description: 'Deletes an inactive plugin with its folder. A plugin of the product cannot be deleted.',
    authScopes: forAdministrators,
    typeOptions: { checks: pluginKeyInput.shape },
    ...ONCE,
    input: {
      vendor: t.input.string({ required: true }),
      name: t.input.string({ required: true }),
      keepData: t.input.boolean({
        description: 'true by default: its tables stay. false: its migrations are taken back, and its tables dropped.',
      }),
    },
    resolve: (_root, { input }, ctx) => deletePlugin(ctx, input),
  }),
);
