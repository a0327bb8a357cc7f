/** Reading plugins. */
import { knownPlugin, plugins } from '../../domain/plugins/find-plugin.ts';
import { pluginKeyInput } from '../../domain/plugins/plugin.ts';
import { builder } from '../builder.ts';
import { Plugin } from './plugin.ts';

const forAdministrators = { admin: true } as const;

builder.queryField('plugins', (t) =>
  t.field({
    type: [Plugin],
    description: 'All plugins, by vendor and name.',
    authScopes: forAdministrators,
    resolve: async (_root, _args, ctx) => [...(await plugins(ctx))],
  }),
);

builder.queryField('plugin', (t) =>
  t.field({
    type: Plugin,
    description: 'One plugin.',
    authScopes: forAdministrators,
    args: {
      vendor: t.arg.string({ required: true, check: pluginKeyInput.shape.vendor }),
      name: t.arg.string({ required: true, check: pluginKeyInput.shape.name }),
    },
    resolve: (_root, key, ctx) => knownPlugin(ctx, key),
  }),
);
