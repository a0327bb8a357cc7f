/** What an entry of the hook `segment_condition` must be. */
import { z } from 'zod';
import type { ConditionParameter, SegmentCondition } from '../plugin-api/index.ts';
import { checkBy, EntryError, functionShape } from './entry-check.ts';
import { wholeNumber } from './job-checks.ts';
import { vendorOf } from './message-checks.ts';
import { labelShape } from './page-checks.ts';

/** A form with more is no form that a person fills in. */
const PARAMETERS_MAX = 20;
const OPTIONS_MAX = 100;
/** Of one plugin: all of them are in a list that people choose from. */
const CONDITIONS_MAX = 50;
/** A campaign waits for it in one of the worker's places. */
const SECONDS_MAX = 60;
const OPTION_LENGTH_MAX = 100;
const TEXT_LENGTH_MAX = 1_000;

const name = z
  .string('must be a text')
  .regex(/^[a-z][a-z0-9_]{0,59}$/, 'must be of small letters, digits and "_", at most 60, and begin with a letter');

const parameter = z.strictObject({
  name,
  label: labelShape,
  type: z.enum(['text', 'number', 'boolean', 'day', 'option'], {
    error: 'must be "text", "number", "boolean", "day" or "option"',
  }),
  isRequired: z.boolean().optional(),
  options: z
    .array(z.strictObject({ value: z.string().min(1).max(OPTION_LENGTH_MAX), label: labelShape }))
    .min(1)
    .max(OPTIONS_MAX)
    .optional(),
  min: z.number().optional(),
  max: z.number().optional(),
});

const shape = z.strictObject({
  name,
  label: labelShape,
  parameters: z.array(parameter).max(PARAMETERS_MAX, `may have at most ${PARAMETERS_MAX}`),
  secondsMax: wholeNumber(1, SECONDS_MAX).optional(),
  find: functionShape<SegmentCondition['find']>(),
});

/** A condition has the vendor's prefix, and a plugin has one of a name. */
export const checkSegmentCondition = checkBy(shape, (entry, { plugin, others = [] }) => {
  const prefix = `${vendorOf(plugin).replaceAll('-', '_')}_`;
  const faults = entry.parameters.flatMap((one) =>
    faultsOf(one).map((fault) => `The parameter "${one.name}" ${fault}.`),
  );
  if (!entry.name.startsWith(prefix)) faults.push(`"name": must begin with ${prefix}.`);
  if (new Set(entry.parameters.map((one) => one.name)).size < entry.parameters.length)
    faults.push('Two parameters have the same name.');
  if (others.some((other) => Reflect.get(Object(other), 'name') === entry.name))
    faults.push(`"name": the plugin has two conditions ${entry.name}.`);
  if (others.length >= CONDITIONS_MAX) faults.push(`A plugin may have ${CONDITIONS_MAX} conditions.`);
  if (faults.length > 0) throw new EntryError(faults.join(' '));
  return entry;
});

function faultsOf({ type, options, min, max }: ConditionParameter): string[] {
  const faults: string[] = [];
  if ((type === 'option') !== (options !== undefined)) faults.push('needs "options" exactly if it is an option');
  if (min !== undefined && type !== 'number') faults.push('has a min and is no number');
  if (max !== undefined && type !== 'number' && type !== 'text') faults.push('has a max and is no number or text');
  if (min !== undefined && max !== undefined && min > max) faults.push('has a min above its max');
  if (type === 'text' && max !== undefined && !(Number.isInteger(max) && max >= 1 && max <= TEXT_LENGTH_MAX))
    faults.push(`has a max that is no whole number from 1 to ${TEXT_LENGTH_MAX}`);
  return faults;
}
