/** What plugins add to pages, and their settings: an extension of the specification. */
import { z } from 'zod';
import { ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { neededName } from '../input.ts';
import { answersBody } from '../shapes.ts';

const forAdministrators = z.boolean().meta({ description: 'Only administrators get it.' });

const extensionShape = z
  .strictObject({
    plugin: z.string().meta({ description: '`vendor/name`' }),
    slot: z.string(),
    kind: z.enum(['menu_item', 'menu_group', 'section', 'script', 'stylesheet']),
    label: z.string().nullable().meta({ description: 'Plain text; null for a script or style sheet.' }),
    href: z.string().nullable().meta({ description: 'A path of this installation, or an https address.' }),
    items: z
      .array(z.strictObject({ label: z.string(), href: z.string(), is_for_administrators: forAdministrators }))
      .meta({ description: 'Of a group.' }),
    is_for_administrators: forAdministrators,
    order: z.int().meta({ description: 'Its place in the slot, from 0.' }),
  })
  .meta({ id: 'ExtensionEntry' });

const mailTemplateShape = z
  .strictObject({
    name: z.string().meta({ description: '`vendor/name:key`, for `plugin_template` of a campaign.' }),
    plugin: z.string().meta({ description: '`vendor/name`' }),
    title: z.string(),
    language: z.string(),
    subject: z.string(),
    html: z.string(),
    plain: z.string().meta({ description: 'Empty: made from the html.' }),
  })
  .meta({ id: 'PluginMailTemplate' });

export const extensionRows = [
  endpoint({
    method: 'GET',
    path: '/plugin_mail_templates',
    access: 'token',
    summary: 'Lists the mail templates of active plugins.',
    details: 'A campaign that names one in `plugin_template` gets a copy of its texts.',
    answers: answersBody(z.array(mailTemplateShape)),
    operation: 'PluginMailTemplates',
    variables: () => ({}),
    present: ({ pluginMailTemplates }) => ok(pluginMailTemplates.nodes),
  }),
  endpoint({
    method: 'GET',
    path: '/extension_slots',
    access: 'token',
    summary: 'Lists what active plugins add to a page.',
    details:
      'Pages: `layout` (slots `head.assets`, `body.before_close`), `sidebar` (`menu-items`), `admin` (`sidebar.groups`), and `<controller>.<action>` such as `campaigns.show`. Labels are in the `language`, else in the customer’s.',
    required: ['page'],
    answers: answersBody(z.array(extensionShape)),
    operation: 'ExtensionSlots',
    variables: (input) => ({
      page: neededName(input, 'page'),
      slot: input.text('slot'),
      language: input.text('language'),
    }),
    present: ({ extensionSlots }) =>
      ok(
        extensionSlots.nodes.map(({ isForAdministrators, items, ...entry }) => ({
          ...entry,
          label: entry.label ?? null,
          href: entry.href ?? null,
          items: items.map(({ label, href, isForAdministrators: isFor }) => ({
            label,
            href,
            is_for_administrators: isFor,
          })),
          is_for_administrators: isForAdministrators,
        })),
      ),
  }),
];
