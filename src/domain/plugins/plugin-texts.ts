/** The translations of plugins: the text of a key in a language, or in English where there is none. */
import { IntlMessageFormat } from 'intl-messageformat';
import type { Label, TranslationFile } from '../../plugin-api/index.ts';
import type { ProductHooks } from '../product-hooks.ts';

const FALLBACK = 'en';

export type TextValues = Readonly<Record<string, string | number | boolean | Date>>;

export interface WantedText {
  readonly plugin: string;
  readonly language: string;
  readonly key: string;
  readonly values?: TextValues | undefined;
}

/** Parsed at the first use, and forgotten with the plugin's entries. */
const formats = new WeakMap<TranslationFile, Map<string, IntlMessageFormat>>();

/**
 * The text in the language, else in its main language (`pt` for `pt-BR`), else in English, else the key itself. A text whose values are
 * missing counts as none.
 */
export function translate(hooks: Pick<ProductHooks, 'owned'>, { plugin, language, key, values }: WantedText): string {
  const files = hooks.owned('add_translation_file').filter((entry) => entry.plugin === plugin);
  const wanted = new Set([language, language.split('-')[0] ?? language, FALLBACK].map((tag) => tag.toLowerCase()));
  for (const tag of wanted) {
    for (const { value: file } of files) {
      const text = file.language.toLowerCase() === tag ? formatted(file, key, values) : undefined;
      if (text !== undefined) return text;
    }
  }
  return key;
}

/** A label as people in this language see it. */
export function labelText(
  hooks: Pick<ProductHooks, 'owned'>,
  label: Label,
  { plugin, language }: Pick<WantedText, 'plugin' | 'language'>,
): string {
  return typeof label === 'string' ? label : translate(hooks, { plugin, language, key: label.key });
}

function formatted(file: TranslationFile, key: string, values: TextValues = {}): string | undefined {
  const message = file.texts && Object.hasOwn(file.texts, key) ? file.texts[key] : undefined;
  if (message === undefined) return undefined;
  const known = formats.get(file) ?? new Map<string, IntlMessageFormat>();
  formats.set(file, known);
  const format = known.get(key) ?? new IntlMessageFormat(message, file.language, undefined, { ignoreTag: true });
  known.set(key, format);
  try {
    return String(format.format({ ...values }));
  } catch {
    return undefined;
  }
}
