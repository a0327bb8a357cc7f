/**
 * The languages that this product is translated into, numbered for `language_id` (D61). A new translation gets the next number;
 * a number never changes its meaning. The texts of the public pages are in `src/inbound/messages/<code>.json`.
 */
export interface Language {
  readonly id: number;
  /** BCP 47. */
  readonly code: string;
  /** In the language itself. */
  readonly name: string;
}

export const LANGUAGES = [
  { id: 1, code: 'en', name: 'English' },
  { id: 2, code: 'de', name: 'Deutsch' },
  { id: 3, code: 'es', name: 'Español' },
  { id: 4, code: 'fr', name: 'Français' },
  { id: 5, code: 'ar', name: 'العربية' },
] as const satisfies readonly Language[];

export type LanguageCode = (typeof LANGUAGES)[number]['code'];

/** Whether this is the number of a language. */
export function isLanguageId(id: number): boolean {
  return LANGUAGES.some((language) => language.id === id);
}

/** The language that a text names: `DE` is `de`; undefined: there is no such translation. */
export function languageOf(code: string): LanguageCode | undefined {
  return LANGUAGES.find((language) => language.code === code.trim().toLowerCase())?.code;
}

/** The code of a language's number. */
export function languageWithId(id: number | null): LanguageCode | undefined {
  return LANGUAGES.find((language) => language.id === id)?.code;
}
