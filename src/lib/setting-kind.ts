/** Kinds of settings: how a text is read, and which values are allowed, as the manual and error messages say it. */
import path from 'node:path';
import { z } from 'zod';

export interface SettingKind<Value> {
  readonly schema: z.ZodType<Value, string>;
  /** Completes "it must be ...". */
  readonly allowed: string;
}

/** Digits only: `1e3` and `0x10` would be a surprise. */
const WHOLE_NUMBER = /^-?\d+$/;

export function numberFrom(min: number, max: number): SettingKind<number> {
  const schema = z.string().regex(WHOLE_NUMBER).transform(Number).pipe(z.number().min(min).max(max));
  return { schema, allowed: `a number from ${min} to ${max}` };
}

export function oneOf<const Word extends string>(...words: readonly Word[]): SettingKind<Word> {
  return { schema: z.enum(words), allowed: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}` };
}

/** A list of parts; `each` is the plural name of a part. */
export function listOf<Value>(
  part: z.ZodType<Value, string>,
  { each, separator = ',', min = 0 }: { each: string; separator?: ',' | ' '; min?: number },
): SettingKind<Value[]> {
  const schema = z
    .string()
    .transform((text) =>
      text
        .split(separator === ',' ? ',' : /\s+/)
        .map((word) => word.trim())
        .filter(Boolean),
    )
    .pipe(z.array(part).min(min));
  return { schema, allowed: `${each}, separated by ${separator === ',' ? 'commas' : 'spaces'}` };
}

/** Paths in one form only: those who compare them as they are written need not fear a second form. */
export const absolutePaths = listOf(
  z.string().refine((text) => /^\/\P{Cc}+$/u.test(text) && path.posix.normalize(text) === text && !text.endsWith('/')),
  { each: 'absolute paths without . and ..' },
);

/** For lists where an empty text means the default. */
export function orNone<Value>({ schema, allowed }: SettingKind<Value[]>): SettingKind<Value[]> {
  return { schema: z.union([z.literal('none').transform(() => []), schema]), allowed: `${allowed}, or none` };
}

export function orEmpty<Value>({ schema, allowed }: SettingKind<Value>): SettingKind<Value | ''> {
  return { schema: z.union([z.literal(''), schema]), allowed: `${allowed}, or empty` };
}

export function orNull<Value>({ schema, allowed }: SettingKind<Value>): SettingKind<Value | null> {
  return { schema: z.union([z.literal('').transform(() => null), schema]), allowed: `${allowed}, or empty` };
}

/** The value of `text`, or what is wrong with it: `it must be a number from 0 to 65535`. */
export function readSetting<Value>(
  { schema, allowed }: SettingKind<Value>,
  text: string,
): { readonly value: Value } | { readonly fault: string } {
  const result = schema.safeParse(text, { reportInput: true });
  if (result.success) return { value: result.data };
  // Which part of a list is wrong.
  const wrong = result.error.issues.flatMap(({ path, input }) => (path.length > 0 ? [JSON.stringify(input)] : []));
  const parts = wrong.length === 0 ? '' : `, and ${wrong.join(', ')} ${wrong.length === 1 ? 'is' : 'are'} not`;
  return { fault: `it must be ${allowed}${parts}` };
}
