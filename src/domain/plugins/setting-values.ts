/** The values of a plugin's settings form: what is given becomes what is stored, or a fault for each key. */
import type { SettingField, SettingValues, SettingsForm } from '../../plugin-api/index.ts';
import type { FieldErrors } from '../../lib/errors.ts';

/** As long as one line may be; of a secret, enough for a private key. */
const TEXT_LENGTH_MAX = 2_000;
const SECRET_LENGTH_MAX = 10_000;

export type GivenValues = Readonly<Record<string, unknown>>;
export type Checked = { readonly values: SettingValues } | { readonly errors: FieldErrors };

/** The stored values with those that are given: null and an empty text clear, what is absent stays. */
export function checkValues({ settings }: SettingsForm, given: GivenValues, stored: SettingValues): Checked {
  const errors: Record<string, string[]> = {};
  const values: Record<string, string | number | boolean> = {};
  for (const setting of settings) {
    const { key } = setting;
    const read = readValue(setting, Object.hasOwn(given, key) ? given[key] : stored[key]);
    if ('fault' in read) errors[`values.${key}`] = [`The ${key} ${read.fault}.`];
    else if (read.value !== undefined) values[key] = read.value;
    else if (setting.required && setting.default === undefined) errors[`values.${key}`] = [`The ${key} is required.`];
  }
  const keys = settings.map(({ key }) => key);
  for (const key of Object.keys(given))
    if (!keys.includes(key))
      errors[`values.${key.slice(0, 50)}`] = [`There is no such setting. The settings are ${keys.join(', ')}.`];
  return Object.keys(errors).length > 0 ? { errors } : { values };
}

/** With the defaults; without what the form does not have any more. */
export function effectiveValues({ settings }: SettingsForm, stored: SettingValues): SettingValues {
  return Object.fromEntries(
    settings.flatMap((setting) => {
      const read = readValue(setting, stored[setting.key]);
      const value = 'value' in read ? (read.value ?? setting.default) : setting.default;
      return value === undefined ? [] : [[setting.key, value]];
    }),
  );
}

type Read = { readonly value: string | number | boolean | undefined } | { readonly fault: string };

function readValue(setting: SettingField, given: unknown): Read {
  if (given === undefined || given === null || given === '') return { value: undefined };
  switch (setting.type) {
    case 'number':
      return readNumber(setting, given);
    case 'flag':
      return readFlag(given);
    case 'choice':
      return readChoice(setting, given);
    case 'text':
    case 'secret':
      return readText(setting, given);
  }
}

/** As JSON has them, or as a form sends them. */
function readFlag(given: unknown): Read {
  if (given === true || given === 'true' || given === '1' || given === 1) return { value: true };
  if (given === false || given === 'false' || given === '0' || given === 0) return { value: false };
  return { fault: 'must be true or false' };
}

function readNumber({ min, max }: SettingField, given: unknown): Read {
  const number = typeof given === 'string' ? Number(given.trim()) : given;
  if (typeof number !== 'number' || !Number.isFinite(number)) return { fault: 'must be a number' };
  if (min !== undefined && number < min) return { fault: `must be at least ${min}` };
  if (max !== undefined && number > max) return { fault: `must be at most ${max}` };
  return { value: number };
}

function readChoice({ choices = [] }: SettingField, given: unknown): Read {
  const found = choices.find(({ value }) => value === given);
  return found ? { value: found.value } : { fault: `must be ${choices.map(({ value }) => value).join(' or ')}` };
}

function readText({ type, min, max }: SettingField, given: unknown): Read {
  if (typeof given !== 'string' && typeof given !== 'number') return { fault: 'must be a text' };
  const text = String(given);
  const lengthMax = Math.min(max ?? Infinity, type === 'secret' ? SECRET_LENGTH_MAX : TEXT_LENGTH_MAX);
  if (text.length > lengthMax) return { fault: `may have at most ${lengthMax} characters` };
  if (min !== undefined && text.length < min) return { fault: `must have at least ${min} characters` };
  // oxlint-disable-next-line no-control-regex -- that is what is looked for
  if (!text.isWellFormed() || /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text))
    return { fault: 'has characters that are not allowed' };
  return { value: text };
}
