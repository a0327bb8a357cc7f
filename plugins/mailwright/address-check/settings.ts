/** The settings of an address check. */
import type { DriverSettings, FieldErrors, SettingsCheck, SettingsInput } from '../../../src/plugin-api/index.ts';

export const CONFIG_KEYS = [
  ...['check_disposable', 'check_roles', 'disposable_domains', 'allowed_domains'],
  ...['dns_timeout_seconds', 'lookups_max'],
] as const;
type Key = (typeof CONFIG_KEYS)[number];

/** A name server that needs longer does not answer. */
const TIMEOUT = { least: 1, most: 20, usual: 3 };
/** More questions at once are taken for an attack by some name servers. */
const LOOKUPS = { least: 1, most: 200, usual: 50 };
const DOMAINS_MAX = 1_000;
const DOMAIN = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/;

/** Every setting with a value; errors are named by key. */
export function validateSettings(given: SettingsInput): SettingsCheck {
  const errors: Record<string, readonly string[]> = {};
  const settings = {
    check_disposable: flagOf(given, 'check_disposable', errors),
    check_roles: flagOf(given, 'check_roles', errors),
    disposable_domains: domainsOf(given, 'disposable_domains', errors),
    allowed_domains: domainsOf(given, 'allowed_domains', errors),
    dns_timeout_seconds: numberOf(given, 'dns_timeout_seconds', TIMEOUT, errors),
    lookups_max: numberOf(given, 'lookups_max', LOOKUPS, errors),
  } satisfies Record<Key, string | number | boolean>;
  const faults: FieldErrors = errors;
  return Object.keys(faults).length > 0 ? { ok: false, errors: faults } : { ok: true, settings };
}

/** Domains of a setting that `validateSettings` has made. */
export function listOf(settings: DriverSettings, key: Key): string[] {
  return String(settings[key] ?? '')
    .split(' ')
    .filter((name) => name !== '');
}

type Errors = Record<string, readonly string[]>;

function flagOf(given: SettingsInput, key: Key, errors: Errors): boolean {
  const value = given[key] ?? 'yes';
  const text = typeof value === 'string' ? value.toLowerCase() : JSON.stringify(value);
  if (['yes', 'true', '1', 'on', ''].includes(text)) return true;
  if (!['no', 'false', '0', 'off'].includes(text)) errors[key] = [`The ${key} must be yes or no.`];
  return false;
}

/** Separated by spaces, commas or lines; written with spaces. */
function domainsOf(given: SettingsInput, key: Key, errors: Errors): string {
  const value = given[key] ?? '';
  const names =
    typeof value === 'string'
      ? value
          .toLowerCase()
          .split(/[\s,;]+/)
          .filter((name) => name !== '')
      : [''];
  const wrong = names.find((name) => !DOMAIN.test(name));
  if (wrong !== undefined)
    errors[key] = [`The ${key} must be domains such as example.com, separated by spaces or commas.`];
  if (names.length > DOMAINS_MAX) errors[key] = [`The ${key} may be ${DOMAINS_MAX} domains at most.`];
  return [...new Set(names)].join(' ');
}

function numberOf(
  given: SettingsInput,
  key: Key,
  { least, most, usual }: { least: number; most: number; usual: number },
  errors: Errors,
): number {
  const value = given[key] ?? '';
  const number = value === '' ? usual : Number(value);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  errors[key] = [`The ${key} must be a whole number from ${least} to ${most}.`];
  return usual;
}
