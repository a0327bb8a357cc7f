/** A settings form in the words of its reader. */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import type { Label, SettingType } from '../../plugin-api/index.ts';
import { findCustomerOfPage } from '../accounts/customer-store.ts';
import { languageWithId } from '../accounts/languages.ts';
import { viewerOf, type Context } from '../context.ts';
import type { ShownSettings } from './plugin-settings.ts';
import { labelText } from './plugin-texts.ts';

export interface ShownChoice {
  readonly value: string;
  readonly label: string;
}

export interface ShownField {
  readonly key: string;
  readonly type: SettingType;
  readonly label: string;
  readonly help: string | null;
  readonly isRequired: boolean;
  readonly min: number | null;
  readonly max: number | null;
  readonly choices: readonly ShownChoice[];
}

/** A language tag (RFC 5646). It may be of any language: a text that is missing is shown in English. */
export const languageInput = z
  .string()
  .max(35)
  .regex(/^[A-Za-z0-9-]*$/, 'must be a language tag such as de or pt-BR')
  .nullish();

/** The language of the caller's customer, else English. */
export async function languageOfCaller(ctx: Context): Promise<string> {
  const customer = await findCustomerOfPage(ctx.db, viewerOf(ctx).customerId);
  return languageWithId(customer?.languageId ?? null) ?? 'en';
}

/** The fields with their texts in the language; that of the caller's customer unless given. */
export async function shownForm(
  ctx: Context,
  { plugin, form }: Pick<ShownSettings, 'plugin' | 'form'>,
  given?: string,
): Promise<readonly ShownField[]> {
  parseInput(z.object({ language: languageInput }), { language: given });
  const language = given ?? (await languageOfCaller(ctx));
  const text = (label: Label) => labelText(ctx.hooks, label, { plugin, language });
  return form.settings.map(({ key, type, label, help, required, min, max, choices = [] }) => ({
    ...{ key, type, label: text(label), help: help === undefined ? null : text(help) },
    ...{ isRequired: required === true, min: min ?? null, max: max ?? null },
    choices: choices.map((choice) => ({ value: choice.value, label: text(choice.label) })),
  }));
}
