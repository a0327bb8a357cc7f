/** Conditions that plugins provide: which are in a rule, which may be used for a customer, and whether values fit. */
import { isDay } from '../../../lib/calendar-day.ts';
import { sha256 } from '../../../lib/crypto.ts';
import type { ConditionParameter, ConditionValues, SegmentCondition } from '../../../plugin-api/index.ts';
import type { OwnedEntry, ProductHooks } from '../../product-hooks.ts';
import type { PluginCondition, SegmentRule } from './segment.ts';

/** Of a text without a limit of its own. */
const TEXT_LENGTH_MAX = 1_000;

/** The same for the same question, in whatever order the database keeps the values. */
export function questionKey({ plugin, name, values }: PluginCondition): string {
  const sorted = Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sha256(JSON.stringify([plugin, name, sorted])).toString('hex');
}

/** The different questions of a rule to plugins, by their keys. */
export function questionsOf(rule: SegmentRule): ReadonlyMap<string, PluginCondition> {
  if ('pluginCondition' in rule) return new Map([[questionKey(rule.pluginCondition), rule.pluginCondition]]);
  const inner = 'all' in rule ? rule.all : 'any' in rule ? rule.any : 'none' in rule ? rule.none : [];
  return new Map(inner.flatMap((one) => [...questionsOf(one)]));
}

/** The entry of an active plugin that may act for the customer; undefined: there is none now. */
export function offeredCondition(
  hooks: Pick<ProductHooks, 'owned' | 'mayActFor'>,
  customerUid: string,
  { plugin, name }: Pick<PluginCondition, 'plugin' | 'name'>,
): OwnedEntry<SegmentCondition> | undefined {
  if (!hooks.mayActFor(plugin, customerUid)) return undefined;
  return hooks.owned('segment_condition').find((entry) => entry.plugin === plugin && entry.value.name === name);
}

/** What is wrong with the values, as ends of sentences by the name of the parameter. */
export function valueFaults(
  parameters: readonly ConditionParameter[],
  values: ConditionValues,
): Readonly<Record<string, string>> {
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const faults = [
    ...Object.entries(values).map(([name, value]) => [name, faultOf(known.get(name), value)] as const),
    ...parameters.map(
      ({ name, isRequired }) => [name, isRequired && !Object.hasOwn(values, name) ? 'is required' : undefined] as const,
    ),
  ];
  return Object.fromEntries(faults.flatMap(([name, fault]) => (fault === undefined ? [] : [[name, fault]])));
}

function faultOf(parameter: ConditionParameter | undefined, value: string | number | boolean): string | undefined {
  if (!parameter) return 'is no parameter of this condition';
  const { type, min = -Infinity, max = Infinity, options = [] } = parameter;
  switch (type) {
    case 'number':
      if (typeof value !== 'number') return 'must be a number';
      if (value < min) return `must be at least ${min}`;
      return value > max ? `must be at most ${max}` : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'day':
      return typeof value === 'string' && isDay(value) ? undefined : 'must be a day such as 2026-12-31';
    case 'option':
      return options.some((option) => option.value === value)
        ? undefined
        : `must be one of: ${options.map((option) => option.value).join(', ')}`;
    case 'text': {
      const length = Math.min(max, TEXT_LENGTH_MAX);
      if (typeof value !== 'string') return 'must be a text';
      return value.length > length ? `may have at most ${length} characters` : undefined;
    }
  }
}
