/** The noun: a plugin that was found on disk, and its place in the life of specification 3.5. */
import { z } from 'zod';
import { row, typed, type RowOf } from '../../db/row.ts';
import type { PluginRights } from '../../plugin-api/index.ts';
import type { PluginKey } from '../plugin-host.ts';

/** `deleting` is a deleted plugin whose folder is not removed yet: nobody sees it. */
export type PluginStatus = 'inactive' | 'active' | 'deleting';

export const PLUGIN_ROW = row({
  id: 'bigint',
  vendor: 'text',
  name: 'text',
  version: 'text',
  title: 'text',
  description: 'text',
  status: typed<PluginStatus>('text'),
  isBundled: 'bool',
  error: 'text?',
  switchedOffAt: 'timestamptz?',
  waitingVersion: 'text?',
  formerVersion: 'text?',
  granted: typed<PluginRights>('json?'),
  grantedAt: 'timestamptz?',
  folder: 'text?',
  activatedAt: 'timestamptz?',
  firstActivatedAt: 'timestamptz?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
});

export type Plugin = RowOf<typeof PLUGIN_ROW>;

/** Names of folders are no longer on any file system. */
const name = z.string().max(255);
export const pluginKeyInput = z.object({ vendor: name, name });

/** A manifest has no more entries, and no longer ones. */
const rights = z.array(z.string().max(300)).max(100).nullish();
export const activationInput = pluginKeyInput.extend({
  scopes: rights,
  hosts: rights,
  browserHosts: rights,
  forAllCustomers: z.boolean().nullish(),
});

/** Notified, without a payload, when a plugin was activated, deactivated, deleted or found. */
export const PLUGINS_CHANNEL = 'plugins_changed';

/** Notified, without a payload, when a customer has switched a plugin on or off. */
export const PLUGIN_CUSTOMERS_CHANNEL = 'plugin_customers_changed';

/** `acme/hello`. */
export function fullName({ vendor, name }: PluginKey): string {
  return `${vendor}/${name}`;
}

/** The vendor of what belongs to the product; other bundled plugins are examples. */
const OWN_VENDOR = 'mailwright';

/** Whether it is one of the product's own plugins, which need no grant. */
export function isOwn({ vendor, isBundled }: Pick<Plugin, 'vendor' | 'isBundled'>): boolean {
  return isBundled && vendor === OWN_VENDOR;
}

/** What the names of a vendor's tables begin with: `acme_tools_` of `acme-tools`. */
export function tablePrefix(vendor: string): string {
  return `${vendor.replaceAll('-', '_')}_`;
}
