/** The conditions that active plugins offer for the rules of segments, as data for a form. */
import { z } from 'zod';
import type { ConditionParameterType, Label } from '../../plugin-api/index.ts';
import { parseInput } from '../../lib/text.ts';
import { customerUidsOf } from '../accounts/customer-store.ts';
import { viewerOf, type Context } from '../context.ts';
import { labelText } from './plugin-texts.ts';
import { languageInput, languageOfCaller, type ShownChoice } from './shown-form.ts';

export interface ShownParameter {
  readonly name: string;
  readonly label: string;
  readonly type: ConditionParameterType;
  readonly isRequired: boolean;
  readonly min: number | null;
  readonly max: number | null;
  readonly options: readonly ShownChoice[];
}

export interface ShownCondition {
  /** `vendor/name`. */
  readonly plugin: string;
  readonly name: string;
  readonly label: string;
  readonly parameters: readonly ShownParameter[];
}

/** Those that the caller's customer may use, in the order of the plugins, with labels in the language or that of the customer. */
export async function segmentConditions(ctx: Context, given?: string | null): Promise<readonly ShownCondition[]> {
  parseInput(z.object({ language: languageInput }), { language: given });
  const { hooks, db } = ctx;
  const [customer] = await customerUidsOf(db, [viewerOf(ctx).customerId]);
  const language = given ?? (await languageOfCaller(ctx));
  return hooks
    .owned('segment_condition')
    .filter(({ plugin }) => hooks.mayActFor(plugin, customer?.uid ?? ''))
    .map(({ plugin, value: { name, label, parameters } }) => {
      const text = (one: Label) => labelText(hooks, one, { plugin, language });
      const shown = parameters.map((parameter) => ({
        ...{ name: parameter.name, label: text(parameter.label), type: parameter.type },
        ...{ isRequired: parameter.isRequired === true, min: parameter.min ?? null, max: parameter.max ?? null },
        options: (parameter.options ?? []).map((option) => ({ value: option.value, label: text(option.label) })),
      }));
      return { plugin, name, label: text(label), parameters: shown };
    });
}
