/** The rules for the registration of a driver or a verifier, and for what it does with settings. */
import type { DriverSettings, SendingDriverRegistration, SettingsInput } from '../plugin-api/index.ts';
import { requireThat, type ConformanceRule } from './conformance-rule.ts';

/** What drivers and verifiers register alike. */
export type RegisteredSettings = Pick<
  SendingDriverRegistration,
  'type' | 'name' | 'description' | 'configKeys' | 'secretKeys' | 'validate'
> &
  Partial<Pick<SendingDriverRegistration, 'formerKeys' | 'programKeys' | 'reportKeys' | 'idempotencyKeySeconds'>>;

export interface SettingsConformance {
  /** Starts a vendor whose settings are right. */
  readonly startVendor: () => Promise<{ readonly settings: SettingsInput; close(): Promise<void> }>;
  /** For each key that can be wrong: a wrong value, in place of that of the vendor's `settings`. */
  readonly wrongSettings: Readonly<Record<string, unknown>>;
}

const SLUG = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
/** What a form, a program or an old version may send in place of a setting. */
const RUBBISH = [null, undefined, true, -1, Number.NaN, '', '\0', 'x'.repeat(10_000), [], {}, ['a'], { a: {} }, 1e300];

export function settingsRules(
  registration: RegisteredSettings,
  { startVendor, wrongSettings }: SettingsConformance,
): readonly ConformanceRule[] {
  return [
    { name: 'the registration fits together', check: async () => checkRegistration(registration) },
    {
      name: 'validate() takes the settings, and its result once more',
      async check() {
        await using vendor = disposable(await startVendor());
        const settings = settingsOf(registration, vendor.settings);
        for (const [key, value] of Object.entries(settings)) {
          requireThat(
            registration.configKeys.includes(key),
            `validate() returns "${key}", which is not in configKeys.`,
          );
          requireThat(
            ['string', 'number', 'boolean'].includes(typeof value),
            `validate() returns for "${key}" what is no text, number, true or false.`,
          );
        }
        const again = JSON.stringify(settingsOf(registration, settings));
        requireThat(
          again === JSON.stringify(settings),
          'validate() returns something else when it is given its own result.',
        );
      },
    },
    {
      name: 'validate() names each wrong setting by its key',
      async check() {
        await using vendor = disposable(await startVendor());
        requireThat(
          Object.keys(wrongSettings).length > 0,
          'wrongSettings is empty: give a wrong value for each key that can be wrong.',
        );
        for (const [key, value] of Object.entries(wrongSettings)) {
          const checked = registration.validate({ ...vendor.settings, [key]: value });
          requireThat(!checked.ok, `validate() takes ${JSON.stringify(value)} as "${key}".`);
          requireThat(
            (checked.errors[key] ?? []).length > 0,
            `validate() refuses a wrong "${key}" without naming it: ${JSON.stringify(checked.errors)}.`,
          );
          checkErrors(registration, checked.errors);
        }
      },
    },
    {
      name: 'validate() never throws',
      async check() {
        await using vendor = disposable(await startVendor());
        const inputs = registration.configKeys.flatMap((key) =>
          RUBBISH.map((value) => ({ ...vendor.settings, [key]: value })),
        );
        for (const input of [{}, ...inputs]) {
          const checked = resultOf(registration, input);
          if (!checked.ok) checkErrors(registration, checked.errors);
        }
      },
    },
  ];
}

/** The vendor's settings as `connect` gets them. */
export function settingsOf(registration: Pick<RegisteredSettings, 'validate'>, input: SettingsInput): DriverSettings {
  const checked = registration.validate(input);
  requireThat(
    checked.ok,
    `validate() refuses the settings of the test: ${JSON.stringify(checked.ok ? '' : checked.errors)}.`,
  );
  return checked.settings;
}

/** Closes the vendor at the end of a block. */
export function disposable<T extends { close(): Promise<void> }>(it: T): T & AsyncDisposable {
  return { ...it, [Symbol.asyncDispose]: () => it.close() };
}

function checkRegistration(registration: RegisteredSettings): void {
  const { type, name, description, configKeys, secretKeys, formerKeys = {}, idempotencyKeySeconds } = registration;
  for (const key of registration.programKeys ?? [])
    requireThat(
      configKeys.includes(key) && !secretKeys.includes(key),
      `programKeys has "${key}", which is not in configKeys, or is a secret.`,
    );
  for (const key of registration.reportKeys ?? [])
    requireThat(configKeys.includes(key), `reportKeys has "${key}", which is not in configKeys.`);
  requireThat(SLUG.test(type), `type is "${type}"; it must be small letters, digits and single hyphens.`);
  requireThat(name !== '' && description !== '', 'name and description are shown to people: they must not be empty.');
  requireThat(new Set(configKeys).size === configKeys.length, 'configKeys has a key twice.');
  for (const key of secretKeys)
    requireThat(configKeys.includes(key), `secretKeys has "${key}", which is not in configKeys.`);
  for (const [former, present] of Object.entries(formerKeys)) {
    requireThat(
      configKeys.includes(present),
      `formerKeys leads from "${former}" to "${present}", which is not in configKeys.`,
    );
    requireThat(!configKeys.includes(former), `"${former}" is in formerKeys and in configKeys.`);
  }
  requireThat(
    idempotencyKeySeconds === undefined || idempotencyKeySeconds > 0,
    'idempotencyKeySeconds must be over 0, or absent.',
  );
}

function resultOf({ validate }: RegisteredSettings, input: SettingsInput) {
  try {
    return validate(input);
  } catch (error) {
    throw new Error(`validate() throws: ${String(error)}`, { cause: error });
  }
}

function checkErrors({ configKeys, formerKeys = {} }: RegisteredSettings, errors: object): void {
  requireThat(Object.keys(errors).length > 0, 'validate() refuses settings and names nothing.');
  for (const [key, sentences] of Object.entries(errors)) {
    requireThat(
      configKeys.includes(key) || key in formerKeys,
      `validate() names "${key}", which is not in configKeys.`,
    );
    const isSentence = (text: unknown) => typeof text === 'string' && text.length > 1;
    requireThat(
      Array.isArray(sentences) && sentences.length > 0 && sentences.every(isSentence),
      `validate() names "${key}" without a sentence.`,
    );
  }
}
