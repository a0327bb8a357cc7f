/** Mail templates of plugins, from which people begin a campaign. */
import { pluginMailTemplates, type PluginMailTemplate as Template } from '../../domain/campaigns/plugin-templates.ts';
import { builder } from '../builder.ts';

const reading = { scope: 'campaigns:read' } as const;

const PluginMailTemplate = builder.objectRef<Template>('PluginMailTemplate').implement({
  description: 'A mail template of an active plugin.',
  authScopes: reading,
  fields: (t) => ({
    name: t.exposeString('name', { description: '`vendor/name:key`, for `pluginTemplate` of a campaign.' }),
    plugin: t.exposeString('plugin', { description: '`vendor/name`.' }),
    title: t.exposeString('title'),
    language: t.exposeString('language', { description: 'A language tag, such as `de`.' }),
    subject: t.exposeString('subject'),
    html: t.exposeString('html', { description: 'Not trusted: show it in a sandbox.' }),
    plain: t.exposeString('plain', { description: 'Empty: made from the html.' }),
  }),
});

builder.queryField('pluginMailTemplates', (t) =>
  t.field({
    type: [PluginMailTemplate],
    description: 'The mail templates of active plugins. A campaign that names one gets a copy of its texts.',
    authScopes: reading,
    resolve: (_root, _args, ctx) => [...pluginMailTemplates(ctx)],
  }),
);
