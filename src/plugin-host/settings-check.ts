/** The form of a plugin's settings, checked when it is added. */
import { z } from 'zod';
import type { SettingField, SettingsForm } from '../plugin-api/index.ts';
import { checkBy, EntryError, type EntryCheck } from './entry-check.ts';
import { labelShape } from './page-checks.ts';

/** A form with more is no form that a person fills in. */
const SETTINGS_MAX = 50;
const CHOICES_MAX = 100;
const TEXT_LENGTH_MAX = 2_000;
const KEY = /^[a-z][a-z0-9_]{0,49}$/;

const key = z.string().regex(KEY, 'must be of small letters, digits and "_", at most 50, and begin with a letter');
const choice = z.strictObject({ value: z.string().min(1).max(100), label: labelShape });

const setting = z.strictObject({
  key,
  type: z.enum(['text', 'number', 'flag', 'choice', 'secret'], {
    error: 'must be "text", "number", "flag", "choice" or "secret"',
  }),
  label: labelShape,
  help: labelShape.optional(),
  required: z.boolean().optional(),
  default: z.union([z.string().max(TEXT_LENGTH_MAX), z.number(), z.boolean()]).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  choices: z.array(choice).min(1).max(CHOICES_MAX).optional(),
});

const form = z.strictObject({
  for: z.enum(['installation', 'customer'], { error: 'must be "installation" or "customer"' }),
  settings: z.array(setting).min(1, 'must not be empty').max(SETTINGS_MAX, `may have at most ${SETTINGS_MAX}`),
});

export const checkSettingsForm: EntryCheck = checkBy(form, (entry, { others = [] }) => {
  const faults = entry.settings.flatMap((one) => faultsOf(one).map((fault) => `The setting "${one.key}" ${fault}.`));
  const keys = new Set(entry.settings.map((one) => one.key));
  if (keys.size < entry.settings.length) faults.push('Two settings have the same key.');
  if (others.some((other) => isFormFor(other, entry.for))) faults.push(`It has two forms for "${entry.for}".`);
  if (faults.length > 0) throw new EntryError(faults.join(' '));
  return entry;
});

const TYPE_OF_DEFAULT = {
  text: 'string',
  number: 'number',
  flag: 'boolean',
  choice: 'string',
  secret: 'none',
} as const;

function faultsOf({ type, default: given, min, max, choices, required }: SettingField): string[] {
  const faults: string[] = [];
  if (type === 'secret' && given !== undefined) faults.push('is a secret and has no default');
  else if (given !== undefined && typeof given !== TYPE_OF_DEFAULT[type])
    faults.push(`has a default that is no ${type}`);
  if ((type === 'choice') !== (choices !== undefined)) faults.push('needs "choices" exactly if it is a choice');
  if (type === 'choice' && given !== undefined && !choices?.some(({ value }) => value === given))
    faults.push('has a default that is none of its choices');
  if (min !== undefined && max !== undefined && min > max) faults.push('has a min above its max');
  if ((min !== undefined || max !== undefined) && (type === 'flag' || type === 'choice'))
    faults.push('has no min and max');
  if (type === 'flag' && required) faults.push('is a flag, which is always on or off: leave "required" out');
  return faults;
}

function isFormFor(value: unknown, owner: SettingsForm['for']): boolean {
  return typeof value === 'object' && value !== null && 'for' in value && value.for === owner;
}
