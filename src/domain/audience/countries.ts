/**
 * The table of countries of decision D15: ISO 3166, numbered from 1 in the order of the names that a maintained package gives
 * them, pinned: a new version with another country must keep the earlier numbers. The names shown are the common ones of CLDR (D51).
 */
import codes from 'i18n-iso-countries/codes.json' with { type: 'json' };
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };

export interface Country {
  readonly id: number;
  /** ISO 3166-1 alpha-2. */
  readonly code: string;
  readonly name: string;
}

const collator = new Intl.Collator('en');
const commonNames = new Intl.DisplayNames(['en'], { type: 'region' });

export const COUNTRIES: readonly Country[] = Object.entries<string | string[]>(english.countries)
  .map(([code, names]) => ({ code, name: typeof names === 'string' ? names : (names[0] ?? code) }))
  .sort((a, b) => collator.compare(a.name, b.name))
  .map(({ code, name }, index) => ({ id: index + 1, code, name: commonNames.of(code) ?? name }));

const byCode = new Map(COUNTRIES.map((country) => [country.code, country]));
const alpha2Of = new Map(codes.map(([alpha2 = '', alpha3 = '']) => [alpha3, alpha2]));

/** The country with this ISO 3166-1 alpha-2 or alpha-3 code, in any case of letters. */
export function countryByCode(given: string): Country | undefined {
  const code = given.trim().toUpperCase();
  return byCode.get(alpha2Of.get(code) ?? code);
}

/** The country with this number, if there is one. */
export function countryOf(id: number | null): Country | undefined {
  return id === null ? undefined : COUNTRIES[id - 1];
}
