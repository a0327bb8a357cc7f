/** What plugins add to pages, and their settings: an extension of the specification. */
import { z } from 'zod';
import type { RestPluginSettingsFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { neededName, type Input } from '../input.ts';
import { actionShape, answersBody, timeShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

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
const settingShape = z.strictObject({
  key: z.string(),
  type: z.enum(['text', 'number', 'flag', 'choice', 'secret']),
  label: z.string(),
  help: z.string().nullable(),
  is_required: z.boolean(),
  min: z.number().nullable().meta({ description: 'Of a number its value; of a text its length.' }),
  max: z.number().nullable(),
  choices: z.array(z.strictObject({ value: z.string(), label: z.string() })),
});

const settingsShape = z
  .strictObject({
    for: z.enum(['installation', 'customer']),
    settings: z.array(settingShape),
    values: z.record(z.string(), z.unknown()).meta({ description: 'By key, with defaults and without secrets.' }),
    secrets_set: z.array(z.string()).meta({ description: 'The keys of the secrets that have a value.' }),
    updated_at: timeShape.nullable(),
  })
  .meta({ id: 'PluginSettings' });

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
  endpoint({
    method: 'GET',
    path: '/plugins/:vendor/:name/settings',
    access: 'token',
    summary: 'Shows the settings of an active plugin that you may change.',
    details:
      'Forms of the customer, and for administrators that of the installation. Labels are in the `language`, else in the customer’s. Secrets are never answered: `secrets_set` names those that have a value.',
    answers: answersBody(z.array(settingsShape)),
    operation: 'PluginSettings',
    variables: (input) => ({
      vendor: input.param('vendor'),
      name: input.param('name'),
      language: languageOf(input),
    }),
    present: ({ pluginSettings }) => ok(pluginSettings.nodes.map(presentSettings)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/plugins/:vendor/:name/settings',
    access: 'token',
    summary: 'Changes the settings of an active plugin that are given.',
    details:
      '`values` has them by key; an empty value goes back to the default. All faults are told at once, and then nothing is changed. `for` is `customer` unless given; `installation` needs an administrator.',
    required: ['values'],
    answers: answersBody(actionShape({ settings: settingsShape })),
    operation: 'UpdatePluginSettings',
    variables: (input) => ({
      input: {
        vendor: input.param('vendor'),
        name: input.param('name'),
        for: input.choice('for', ['customer', 'installation']) ?? 'customer',
        values: neededObject(input, 'values'),
      },
      language: languageOf(input),
    }),
    present: ({ updatePluginSettings: settings }) =>
      done('The settings were changed', { settings: presentSettings(settings) }),
  }),
];

function neededObject(input: Input, name: string): Record<string, unknown> {
  const given = input.plainObject(name);
  if (given === undefined) input.refuse(name, `The ${name} field is required: an object of keys and values.`);
  return { ...given };
}

function presentSettings({ settings, values, secretsSet, updatedAt, for: owner }: RestPluginSettingsFragment) {
  return {
    for: owner,
    settings: settings.map(({ isRequired, help, min, max, ...setting }) => ({
      ...{ ...setting, help: help ?? null, is_required: isRequired, min: min ?? null, max: max ?? null },
    })),
    values,
    secrets_set: secretsSet,
    updated_at: updatedAt ? restTime(updatedAt) : null,
  };
}

/** Refused before anything is changed. */
function languageOf(input: Input): string | undefined {
  const language = input.text('language');
  if (language !== undefined && !/^[A-Za-z0-9-]{0,35}$/.test(language))
    input.refuse('language', 'The language must be a language tag such as de or pt-BR.');
  return language;
}
