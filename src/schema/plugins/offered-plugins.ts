/** Plugins as customers see them: which may act for customers, and switching them on and off. */
import type { OfferedPlugin as OfferedRow } from '../../domain/plugins/plugin-customer-store.ts';
import { pluginKeyInput } from '../../domain/plugins/plugin.ts';
import { pluginsOffered, switchPluginOff, switchPluginOn } from '../../domain/plugins/switch-plugin.ts';
import { builder } from '../builder.ts';

const reading = { scope: 'account:read' } as const;
const writing = { scope: 'account:write' } as const;

const OfferedPlugin = builder.objectRef<OfferedRow>('OfferedPlugin').implement({
  description: 'A plugin that may act for customers.',
  authScopes: reading,
  fields: (t) => ({
    vendor: t.exposeString('vendor'),
    name: t.exposeString('name', { description: 'Unique for its vendor.' }),
    title: t.exposeString('title'),
    description: t.exposeString('description'),
    scopes: t.stringList({ description: 'What it may do for you.', resolve: ({ scopes }) => [...scopes] }),
    isForAllCustomers: t.exposeBoolean('isForAll', {
      description: 'The administrator lets it act for all customers, whether they have switched it on or not.',
    }),
    isSwitchedOn: t.exposeBoolean('isSwitchedOn', { description: 'Whether you have switched it on.' }),
  }),
});

builder.queryField('offeredPlugins', (t) =>
  t.field({
    type: [OfferedPlugin],
    description: 'Active plugins that may act for customers.',
    authScopes: reading,
    resolve: async (_root, _args, ctx) => [...(await pluginsOffered(ctx))],
  }),
);

builder.mutationField('switchPluginOn', (t) =>
  t.fieldWithInput({
    type: OfferedPlugin,
    description: 'Lets a plugin act for you, with the scopes that it has.',
    authScopes: writing,
    typeOptions: { checks: pluginKeyInput.shape },
    input: { vendor: t.input.string({ required: true }), name: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => switchPluginOn(ctx, input),
  }),
);

builder.mutationField('switchPluginOff', (t) =>
  t.fieldWithInput({
    type: OfferedPlugin,
    description: 'A plugin acts for you no longer, unless the administrator lets it act for all customers.',
    authScopes: writing,
    typeOptions: { checks: pluginKeyInput.shape },
    input: { vendor: t.input.string({ required: true }), name: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => switchPluginOff(ctx, input),
  }),
);
