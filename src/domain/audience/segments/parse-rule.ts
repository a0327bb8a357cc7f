/** Parses a rule from a caller or the database, with all faults together. */
import { ValidationError, type FieldErrors } from '../../../lib/errors.ts';
import { checkInput, fieldLabel } from '../../../lib/text.ts';
import { conditionSchemas, withoutNulls, type ConditionName } from './conditions.ts';
import { RULE_BYTES_MAX, RULE_CONDITIONS_MAX, RULE_DEPTH_MAX, type Condition, type SegmentRule } from './segment.ts';

const GROUPS = ['all', 'any', 'none'] as const;
type GroupName = (typeof GROUPS)[number];

const isGroup = (name: string): name is GroupName => GROUPS.some((group) => group === name);
const isCondition = (name: string): name is ConditionName => Object.hasOwn(conditionSchemas, name);
const NAMES = [...GROUPS, ...Object.keys(conditionSchemas)].join(', ');

interface Reading {
  readonly errors: Record<string, readonly string[]>;
  conditions: number;
}

/** More faults are not listed. */
const FAULTS_SHOWN_MAX = 50;

/** The rule. Throws ValidationError whose fields begin with `rule` (`rule.all.0.email.is`). */
export function parseRule(given: unknown): SegmentRule {
  const reading: Reading = { errors: {}, conditions: 0 };
  const rule = readRule(given, { path: 'rule', depth: 0 }, reading);
  if (reading.conditions > RULE_CONDITIONS_MAX)
    refuse(reading, 'rule', `The rule may not have more than ${RULE_CONDITIONS_MAX} conditions.`);
  const faults = Object.entries(reading.errors);
  if (!rule || faults.length > 0) throw new ValidationError(Object.fromEntries(faults.slice(0, FAULTS_SHOWN_MAX)));
  if (Buffer.byteLength(JSON.stringify(rule)) > RULE_BYTES_MAX)
    throw new ValidationError({ rule: [`The rule may not be larger than ${RULE_BYTES_MAX / 1024} KiB.`] });
  return rule;
}

interface Place {
  readonly path: string;
  readonly depth: number;
}

function readRule(given: unknown, place: Place, reading: Reading): SegmentRule | undefined {
  const { path } = place;
  const node = withoutNulls(given);
  if (typeof node !== 'object' || node === null || Array.isArray(node))
    return refuse(reading, path, `The ${path} must be an object.`);
  const [[name, value] = [], ...more] = Object.entries(node);
  if (name === undefined || more.length > 0 || !(isGroup(name) || isCondition(name)))
    return refuse(reading, path, `The ${path} must have exactly one of: ${NAMES}.`);
  if (isGroup(name)) return readGroup(name, value, place, reading);
  reading.conditions += 1;
  // Beyond the limit nothing more is read, so the work is limited.
  if (reading.conditions > RULE_CONDITIONS_MAX) return undefined;
  const { data, errors } = checkInput(conditionSchemas[name], value);
  if (errors) return noteAll(reading, `${path}.${name}`, errors);
  // The schema of the name made the value.
  return { [name]: data } as unknown as Condition;
}

function readGroup(name: GroupName, value: unknown, { path, depth }: Place, reading: Reading): SegmentRule | undefined {
  const inside = `${path}.${name}`;
  if (depth >= RULE_DEPTH_MAX)
    return refuse(reading, 'rule', `The rule may not be nested deeper than ${RULE_DEPTH_MAX} levels.`);
  if (!Array.isArray(value) || value.length === 0)
    return refuse(reading, inside, `The ${inside} must be a list of at least one rule.`);
  if (value.length > RULE_CONDITIONS_MAX)
    return refuse(reading, inside, `The ${inside} may not have more than ${RULE_CONDITIONS_MAX} items.`);
  const rules: (SegmentRule | undefined)[] = [];
  for (const [no, inner] of value.entries()) {
    if (reading.conditions > RULE_CONDITIONS_MAX) break;
    rules.push(readRule(inner, { path: `${inside}.${no}`, depth: depth + 1 }, reading));
  }
  const known = rules.filter((rule) => rule !== undefined);
  return known.length < value.length ? undefined : ({ [name]: known } as unknown as SegmentRule);
}

function refuse(reading: Reading, field: string, sentence: string): undefined {
  reading.errors[field] = [sentence];
}

function noteAll(reading: Reading, prefix: string, errors: FieldErrors): undefined {
  const name = fieldLabel(prefix.split('.').at(-1) ?? prefix);
  for (const [field, sentences] of Object.entries(errors)) {
    // The value as a whole has no name of its own.
    if (field === 'input') reading.errors[prefix] = sentences.map((one) => one.replace(/^The input /, `The ${name} `));
    else reading.errors[`${prefix}.${field}`] = sentences;
  }
}
