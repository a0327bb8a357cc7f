/**
 * The limits of a check in a sentence, for people who read the schema: read from the check itself, so both never differ. What a
 * check of its own (`refine`, `regex`) allows is said where it is defined, by `.describe('…')`.
 */
import { z } from 'zod';
import { countOf } from './counted-noun.ts';

/** `At most 255 characters.`; undefined: the check has no limit. */
export function limitsOf(check: z.core.$ZodType): string | undefined {
  const said = z.globalRegistry.get(check)?.description;
  if (said !== undefined) return said;
  if (check instanceof z.ZodString) return lengthOf(check);
  if (check instanceof z.ZodNumber) return rangeOf(check);
  if (check instanceof z.ZodArray) return entriesOf(check);
  if (check instanceof z.ZodEnum) return `One of ${check.options.join(', ')}.`;
  if (check instanceof z.ZodUnion) return choiceOf(check.options);
  if (check instanceof z.ZodPipe) return limitsOf(check.def.in) ?? limitsOf(check.def.out);
  if (check instanceof z.ZodOptional || check instanceof z.ZodNullable || check instanceof z.ZodDefault)
    return limitsOf(check.def.innerType);
  return undefined;
}

function lengthOf({ maxLength }: z.ZodString): string | undefined {
  return maxLength === null ? undefined : `At most ${countOf(maxLength, ['character', 'characters'])}.`;
}

function rangeOf({ minValue, maxValue }: z.ZodNumber): string | undefined {
  const min = given(minValue);
  const max = given(maxValue);
  if (min !== undefined && max !== undefined) return `From ${min} to ${max}.`;
  if (max !== undefined) return `At most ${max}.`;
  return min === undefined ? undefined : `At least ${min}.`;
}

/** Without the bounds of all integers. */
function given(bound: number | null): number | undefined {
  return bound === null || Math.abs(bound) >= Number.MAX_SAFE_INTEGER ? undefined : bound;
}

function entriesOf({ def }: z.ZodArray): string | undefined {
  const most = def.checks?.find((one) => one instanceof z.core.$ZodCheckMaxLength)?._zod.def.maximum;
  const each = limitsOf(def.element);
  if (most === undefined) return undefined;
  const count = `At most ${countOf(most, ['entry', 'entries'])}`;
  return each === undefined ? `${count}.` : `${count}. Each: ${each.charAt(0).toLowerCase()}${each.slice(1)}`;
}

function choiceOf(options: readonly z.core.$ZodType[]): string | undefined {
  const limits = options.map(limitsOf).find((one) => one !== undefined);
  const mayBeEmpty = options.some((one) => one instanceof z.ZodLiteral && one.values.has(''));
  return mayBeEmpty ? limits?.replace(/\.$/, ', or empty.') : limits;
}
