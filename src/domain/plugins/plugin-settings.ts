/** The settings of active plugins: forms, values and who may change them. A credential is stored encrypted and never shown. */
import { z } from 'zod';
import { notify } from '../../db/listen.ts';
import { deriveKey, seal, unseal } from '../../lib/crypto.ts';
import { ForbiddenError, ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import type { SettingValues, SettingsForm } from '../../plugin-api/index.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { findCustomer, findCustomerOfPage } from '../accounts/customer-store.ts';
import { holdsScope } from '../accounts/scopes.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { formNotFound, pluginNotFound, switchedOff, switchedOffText } from './plugin-errors.ts';
import {
  beginSettings,
  findSettings,
  writeSettingValues,
  type SettingsKey,
  type StoredSettings,
} from './plugin-settings-store.ts';
import { fullName, pluginKeyInput } from './plugin.ts';
import { checkValues, effectiveValues } from './setting-values.ts';

export type SettingsOwner = SettingsForm['for'];

/** A form with its values, as those who may change them see it. */
export interface ShownSettings {
  readonly plugin: string;
  readonly form: SettingsForm;
  /** Without secrets. */
  readonly values: SettingValues;
  /** Keys of the secrets that have a value. */
  readonly secretsSet: readonly string[];
  /** null: nothing was changed yet. */
  readonly updatedAt: Date | null;
}

export const settingsChangeInput = z.object({
  ...pluginKeyInput.shape,
  for: z.enum(['installation', 'customer']),
  values: z.record(z.string(), z.unknown()),
});

/** Notified with the plugin and the customer's uid when settings have changed. */
export const PLUGIN_SETTINGS_CHANNEL = 'plugin_settings_changed';

const KEY_PURPOSE = 'plugin-settings';

/**
 * The forms that the caller may fill in: its customer's if the plugin acts for it, and for an administrator that of the installation. Throws
 * NotFoundError.
 */
export async function pluginSettings(ctx: Context, key: PluginKey): Promise<readonly ShownSettings[]> {
  const plugin = fullName(parseInput(pluginKeyInput, key));
  if (!ctx.plugins?.isLive(key)) throw pluginNotFound();
  const isOn = await isOnForCaller(ctx, plugin);
  const forms = formsOf(ctx, plugin).filter((form) => (form.for === 'customer' ? isOn : isAdministrator(ctx)));
  return Promise.all(forms.map((form) => shown(ctx, plugin, form)));
}

/**
 * Changes the values that are given; null clears one. All or nothing, and every fault is told. Throws ValidationError; NotFoundError
 * `PLUGIN_NOT_FOUND`, `PLUGIN_FORM_NOT_FOUND`; ForbiddenError for the installation's if the caller is no administrator.
 */
export async function updatePluginSettings(
  ctx: Context,
  input: PluginKey & { readonly for: string; readonly values: Readonly<Record<string, unknown>> },
): Promise<ShownSettings> {
  const { vendor, name, for: owner, values: given } = parseInput(settingsChangeInput, input);
  const plugin = fullName({ vendor, name });
  if (owner === 'installation' && !isAdministrator(ctx))
    throw new ForbiddenError('FORBIDDEN', 'Only an administrator may change the settings of the installation.');
  if (!ctx.plugins?.isLive({ vendor, name })) throw pluginNotFound();
  const form = formsOf(ctx, plugin).find((one) => one.for === owner);
  if (!form) throw formNotFound();
  if (owner === 'customer' && !(await isOnForCaller(ctx, plugin))) throw switchedOff(plugin);
  return inTransaction(ctx, async (inner) => {
    const key = keyOf(inner, plugin, form);
    await beginSettings(inner.db, key);
    const row = await findSettings(inner.db, key, true);
    const checked = checkValues(form, given, row ? allValues(inner, key, row) : {});
    if ('errors' in checked) throw new ValidationError(checked.errors);
    await writeSettingValues(inner.db, key, sealedApart(inner, key, form, checked.values));
    const { customerId } = viewerOf(inner);
    const customerUid = owner === 'customer' ? ((await findCustomerOfPage(inner.db, customerId))?.uid ?? null) : null;
    await notify(inner.db, PLUGIN_SETTINGS_CHANNEL, JSON.stringify({ plugin, customerUid }));
    await auditInTransaction(inner, { customerId, targetUid: plugin });
    return shown(inner, plugin, form);
  });
}

/**
 * The values for the plugin itself, credentials among them: of the installation, or of the customer with this uid. Throws an Error with a
 * sentence for a customer for whom the plugin does not act.
 */
export async function settingsForPlugin(
  ctx: Context,
  plugin: string,
  customerUid: string | null,
): Promise<SettingValues> {
  const form = formsOf(ctx, plugin).find((one) => one.for === (customerUid === null ? 'installation' : 'customer'));
  if (!form) return {};
  const customer = customerUid === null ? undefined : await findCustomer(ctx.db, { uid: customerUid });
  if (customerUid !== null && !customer) throw new Error(`There is no customer "${customerUid.slice(0, 50)}".`);
  if (customer && !ctx.hooks.mayActFor(plugin, customer.uid)) throw new Error(switchedOffText(plugin));
  const key: SettingsKey = { ...keyOfPlugin(plugin), customerId: customer?.id ?? null };
  const row = await findSettings(ctx.db, key);
  return effectiveValues(form, row ? allValues(ctx, key, row) : {});
}

function formsOf({ hooks }: Pick<Context, 'hooks'>, plugin: string): readonly SettingsForm[] {
  return hooks
    .owned('settings_form')
    .filter((entry) => entry.plugin === plugin)
    .map(({ value }) => value);
}

/** Whether the plugin acts for the caller's customer. */
async function isOnForCaller(ctx: Context, plugin: string): Promise<boolean> {
  const customer = await findCustomerOfPage(ctx.db, viewerOf(ctx).customerId);
  return customer !== undefined && ctx.hooks.mayActFor(plugin, customer.uid);
}

function isAdministrator(ctx: Context): boolean {
  const { isAdmin, scopes } = viewerOf(ctx);
  return isAdmin && holdsScope(scopes, 'admin');
}

async function shown(ctx: Context, plugin: string, form: SettingsForm): Promise<ShownSettings> {
  const key = keyOf(ctx, plugin, form);
  const row = await findSettings(ctx.db, key);
  const secretKeys = new Set(form.settings.filter(({ type }) => type === 'secret').map((setting) => setting.key));
  const values = effectiveValues(form, row ? allValues(ctx, key, row) : {});
  return {
    ...{ plugin, form, updatedAt: row?.updatedAt ?? null },
    values: Object.fromEntries(Object.entries(values).filter(([name]) => !secretKeys.has(name))),
    secretsSet: Object.keys(values).filter((name) => secretKeys.has(name)),
  };
}

function keyOf(ctx: Context, plugin: string, form: SettingsForm): SettingsKey {
  return { ...keyOfPlugin(plugin), customerId: form.for === 'customer' ? viewerOf(ctx).customerId : null };
}

function keyOfPlugin(plugin: string): PluginKey {
  const [vendor = '', name = ''] = plugin.split('/');
  return { vendor, name };
}

/** The stored values with the secrets. Throws when the installation's secret is another one. */
function allValues(
  { installation }: Context,
  key: SettingsKey,
  { values, sealedValues }: StoredSettings,
): SettingValues {
  if (sealedValues === null) return values;
  const text = unseal(deriveKey(installation.secret, KEY_PURPOSE), sealedValues, boundTo(key));
  return { ...values, ...secretsShape.parse(JSON.parse(text)) };
}

const secretsShape = z.record(z.string(), z.string());

function sealedApart({ installation }: Context, key: SettingsKey, form: SettingsForm, all: SettingValues) {
  const secretKeys = new Set(form.settings.filter(({ type }) => type === 'secret').map((setting) => setting.key));
  const parts = Object.groupBy(Object.entries(all), ([name]) => (secretKeys.has(name) ? 'secret' : 'plain'));
  const secrets = JSON.stringify(Object.fromEntries(parts.secret ?? []));
  const sealedValues = parts.secret && seal(deriveKey(installation.secret, KEY_PURPOSE), secrets, boundTo(key));
  return { values: Object.fromEntries(parts.plain ?? []), sealedValues: sealedValues ?? null };
}

/** A sealed value works in its own row only. */
function boundTo({ vendor, name, customerId }: SettingsKey): string {
  return `${vendor}/${name} ${customerId ?? 'installation'}`;
}
