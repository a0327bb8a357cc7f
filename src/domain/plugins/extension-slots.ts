/**
 * What active plugins add to pages, for any front end: entries of menus, sections, files that pages load. A front end shows them without
 * knowing any plugin. Labels and addresses were checked when they were added (src/plugin-host/page-checks.ts).
 */
import { z } from 'zod';
import { findCustomerOfPage } from '../accounts/customer-store.ts';
import { languageWithId } from '../accounts/languages.ts';
import { holdsScope } from '../accounts/scopes.ts';
import { viewerOf, type Context } from '../context.ts';
import type { Label, MenuItem, PageAsset, PageSection, SidebarGroup } from '../../plugin-api/index.ts';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import type { OwnedEntry, ProductHooks } from '../product-hooks.ts';
import { labelText } from './plugin-texts.ts';

export type ExtensionKind = 'menu_item' | 'menu_group' | 'section' | 'script' | 'stylesheet';

export interface ExtensionItem {
  readonly label: string;
  readonly href: string;
  readonly isForAdministrators: boolean;
}

export interface ExtensionEntry {
  /** `vendor/name`. */
  readonly plugin: string;
  readonly slot: string;
  readonly kind: ExtensionKind;
  /** null: a file has none. */
  readonly label: string | null;
  /** null: a group has none. */
  readonly href: string | null;
  /** Of a group. */
  readonly items: readonly ExtensionItem[];
  readonly isForAdministrators: boolean;
  /** Its place in its slot, from 0. */
  readonly order: number;
}

export const extensionSlotsInput = z.object({
  page: z.string().max(100),
  slot: z.string().max(100).nullish(),
  language: z.string().max(35).nullish(),
});

export type ExtensionQuestion = z.input<typeof extensionSlotsInput>;

/** The pages that are not `<controller>.<action>`, with their slots. */
const FIXED = {
  layout: ['head.assets', 'body.before_close'],
  admin: ['sidebar.groups'],
  sidebar: ['menu-items'],
} as const;
const PAGE_OF_CONTROLLER = /^[\w-]+\.[\w-]+$/;

/**
 * The entries of a page's slots, or of one slot, in their order, of plugins that act for the caller's customer. An administrator gets those
 * of all plugins, and those for administrators. Throws ValidationError for a page or slot that cannot have any.
 */
export async function extensionSlots(ctx: Context, question: ExtensionQuestion): Promise<readonly ExtensionEntry[]> {
  const { page, slot, language } = parseInput(extensionSlotsInput, question);
  const slots = slotsOf(ctx.hooks, page, slot ?? undefined);
  const { isAdmin, scopes, customerId } = viewerOf(ctx);
  const seesAll = isAdmin && holdsScope(scopes, 'admin');
  const customer = await findCustomerOfPage(ctx.db, customerId);
  const reader: Reader = {
    hooks: ctx.hooks,
    language: language ?? languageWithId(customer?.languageId ?? null) ?? 'en',
    seesPlugin: (plugin) => seesAll || ctx.hooks.mayActFor(plugin, customer?.uid ?? ''),
  };
  return slots
    .flatMap((one) => entriesOf(reader, page, one))
    .filter(({ isForAdministrators }) => seesAll || !isForAdministrators)
    .map((entry) => ({ ...entry, items: entry.items.filter((item) => seesAll || !item.isForAdministrators) }));
}

function slotsOf(hooks: ProductHooks, page: string, slot: string | undefined): readonly string[] {
  const fixed: readonly string[] | undefined = isFixed(page) ? FIXED[page] : undefined;
  if (!fixed && !PAGE_OF_CONTROLLER.test(page))
    throw new ValidationError({
      page: [
        `The page must be ${Object.keys(FIXED).join(', ')}, or a controller and an action such as campaigns.show.`,
      ],
    });
  if (slot !== undefined) {
    if (fixed ? fixed.includes(slot) : /^[\w-]+$/.test(slot)) return [slot];
    const what = fixed ? fixed.join(' or ') : 'a name of letters, digits, "_" and "-"';
    throw new ValidationError({ slot: [`The slot of this page must be ${what}.`] });
  }
  if (fixed) return fixed;
  const prefix = `page.${page}.`;
  const names = hooks.liveNames().filter((name) => name.startsWith(prefix));
  return names.map((name) => name.slice(prefix.length)).toSorted();
}

function isFixed(page: string): page is keyof typeof FIXED {
  return Object.hasOwn(FIXED, page);
}

interface Reader {
  readonly hooks: ProductHooks;
  readonly language: string;
  seesPlugin(plugin: string): boolean;
}

function entriesOf(reader: Reader, page: string, slot: string): readonly ExtensionEntry[] {
  const { hooks } = reader;
  const seen = <Value>(entries: readonly OwnedEntry<Value>[]) =>
    entries.filter(({ plugin }) => reader.seesPlugin(plugin));
  const name = `${page}.${slot}`;
  switch (name) {
    case 'layout.head.assets':
    case 'layout.body.before_close':
      return seen(hooks.owned(name)).map((entry, order) => ({ ...assetOf(entry), slot, order }));
    case 'admin.sidebar.groups':
      return seen(hooks.owned(name)).map((entry, order) => ({ ...groupOf(reader, entry), slot, order }));
    case 'sidebar.menu-items':
      return menuItems(reader).map(({ plugin, value }, order) => {
        return { plugin, slot, order, kind: 'menu_item', items: [], ...itemOf(reader, plugin, value) };
      });
    default: {
      const [controller = '', action = ''] = page.split('.');
      return seen(hooks.owned(`page.${controller}.${action}.${slot}`)).map((entry, order) => {
        return { ...sectionOf(reader, entry), slot, order };
      });
    }
  }
}

/** What the filter makes of an empty menu. An item belongs to the plugin that has given it as it is. */
function menuItems({ hooks, seesPlugin }: Reader): readonly OwnedEntry<MenuItem>[] {
  const steps = hooks.filterSteps('sidebar-menu-items', [], seesPlugin);
  const givers = new Map<string, string>();
  for (const { plugin, value } of steps)
    for (const item of value) {
      const key = JSON.stringify(item);
      if (!givers.has(key)) givers.set(key, plugin);
    }
  return (steps.at(-1)?.value ?? []).map((value) => ({ plugin: givers.get(JSON.stringify(value)) ?? '', value }));
}

type Placeless = Omit<ExtensionEntry, 'slot' | 'order'>;

function assetOf({ plugin, value }: OwnedEntry<PageAsset>): Placeless {
  const { kind, href, audience } = value;
  return { plugin, kind, href, label: null, items: [], isForAdministrators: audience === 'admin' };
}

function groupOf(reader: Reader, { plugin, value }: OwnedEntry<SidebarGroup>): Placeless {
  const items = value.items.map((item) => ({ ...itemOf(reader, plugin, item), isForAdministrators: true }));
  const label = textOf(reader, plugin, value.label);
  return { plugin, kind: 'menu_group', href: null, label, items, isForAdministrators: true };
}

function sectionOf(reader: Reader, { plugin, value }: OwnedEntry<PageSection>): Placeless {
  const { title, href, audience } = value;
  const label = textOf(reader, plugin, title);
  return { plugin, kind: 'section', href, label, items: [], isForAdministrators: audience === 'admin' };
}

function itemOf(reader: Reader, plugin: string, { label, href, audience }: MenuItem): ExtensionItem {
  return { label: textOf(reader, plugin, label), href, isForAdministrators: audience === 'admin' };
}

function textOf({ hooks, language }: Reader, plugin: string, label: Label): string {
  return labelText(hooks, label, { plugin, language });
}
