/**
 * The table of countries of decision D15: ISO 3166 in the order of their English names, numbered from 1. Names come from a
 * maintained package, pinned: a new version with another country must keep the earlier numbers.
 */
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };

export interface Country {
  readonly id: number;
  /** ISO 3166-1 alpha-2. */
  readonly code: string;
  readonly name: string;
}

const collator = new Intl.Collator('en');

export const COUNTRIES: readonly Country[] = Object.entries<string | string[]>(english.countries)
  .map(([code, names]) => ({ code, name: typeof names === 'string' ? names : (names[0] ?? code) }))
  .sort((a, b) => collator.compare(a.name, b.name))
  .map((country, index) => ({ id: index + 1, ...country }));

/** The country with this number, if there is one. */
export function countryOf(id: number): Country | undefined {
  return COUNTRIES[id - 1];
}
