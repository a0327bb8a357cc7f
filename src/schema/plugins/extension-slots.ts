/** What active plugins add to pages, for any front end. */
import {
  extensionSlots,
  extensionSlotsInput,
  type ExtensionEntry as EntryRow,
  type ExtensionItem as ItemRow,
} from '../../domain/plugins/extension-slots.ts';
import { builder } from '../builder.ts';
import { ExtensionKind } from '../enums.ts';

const authenticated = { authenticated: true } as const;
const FOR_ADMINISTRATORS = 'Only administrators get it.';

const ExtensionItem = builder.objectRef<ItemRow>('ExtensionItem').implement({
  description: 'An item of a group.',
  authScopes: authenticated,
  fields: (t) => ({
    label: t.exposeString('label', { description: 'Plain text, in the language that was asked for.' }),
    href: t.exposeString('href', { description: 'A path of this installation, or an https address.' }),
    isForAdministrators: t.exposeBoolean('isForAdministrators', { description: FOR_ADMINISTRATORS }),
  }),
});

const ExtensionEntry = builder.objectRef<EntryRow>('ExtensionEntry').implement({
  description: 'What an active plugin adds to a page.',
  authScopes: authenticated,
  fields: (t) => ({
    plugin: t.exposeString('plugin', { description: '`vendor/name`.' }),
    slot: t.exposeString('slot', { description: 'Where on the page.' }),
    kind: t.field({ type: ExtensionKind, resolve: ({ kind }) => kind }),
    label: t.exposeString('label', {
      nullable: true,
      description: 'Plain text, in the language that was asked for; null for a script or style sheet.',
    }),
    href: t.exposeString('href', {
      nullable: true,
      description:
        'A path of this installation, or an https address; of a script or style sheet always a path. null for a group.',
    }),
    items: t.field({ type: [ExtensionItem], description: 'Of a group.', resolve: ({ items }) => [...items] }),
    isForAdministrators: t.exposeBoolean('isForAdministrators', { description: FOR_ADMINISTRATORS }),
    order: t.exposeInt('order', { description: 'Its place in the slot, from 0.' }),
  }),
});

builder.queryField('extensionSlots', (t) =>
  t.field({
    type: [ExtensionEntry],
    description:
      'What active plugins add to a page, by slot and order. A front end shows it without knowing any plugin. ' +
      'Pages: `layout` (slots `head.assets`, `body.before_close`), `sidebar` (`menu-items`), `admin` (`sidebar.groups`), ' +
      'and `<controller>.<action>` such as `campaigns.show`, with slots of any name.',
    authScopes: authenticated,
    args: {
      page: t.arg.string({ required: true, check: extensionSlotsInput.shape.page }),
      slot: t.arg.string({ check: extensionSlotsInput.shape.slot, description: 'Only this slot; all unless given.' }),
      language: t.arg.string({
        check: extensionSlotsInput.shape.language,
        description:
          "Of the labels, such as `de`; the customer's unless given. English where a plugin has no translation.",
      }),
    },
    resolve: async (_root, args, ctx) => [...(await extensionSlots(ctx, args))],
  }),
);
