/** Checks conditions of plugins in a rule that is saved or tried: an active plugin offers them to the customer, and the values fit. */
import { ValidationError } from '../../../lib/errors.ts';
import { customerUidsOf } from '../../accounts/customer-store.ts';
import type { Context } from '../../context.ts';
import { offeredCondition, questionKey, valueFaults } from './plugin-condition.ts';
import { RULE_PLUGIN_CONDITIONS_MAX, type Condition } from './segment.ts';

export interface PlacedCondition {
  /** Such as `rule.all.0`. */
  readonly path: string;
  readonly condition: Condition;
}

/** Throws ValidationError with all faults. No plugin is asked. */
export async function checkPluginConditions(
  { db, hooks }: Pick<Context, 'db' | 'hooks'>,
  customerId: bigint,
  conditions: readonly PlacedCondition[],
): Promise<void> {
  const asked = conditions.flatMap(({ path, condition }) =>
    'pluginCondition' in condition ? [{ path: `${path}.pluginCondition`, question: condition.pluginCondition }] : [],
  );
  if (asked.length === 0) return;
  const [customer] = await customerUidsOf(db, [customerId]);
  const errors: Record<string, string[]> = {};
  for (const { path, question } of asked) {
    const entry = offeredCondition(hooks, customer?.uid ?? '', question);
    if (!entry)
      errors[`${path}.name`] = [`No active plugin ${question.plugin} offers you the condition ${question.name}.`];
    const faults = Object.entries(entry ? valueFaults(entry.value.parameters, question.values) : {});
    for (const [name, fault] of faults) errors[`${path}.values.${name}`] = [`The value ${name} ${fault}.`];
  }
  if (new Set(asked.map(({ question }) => questionKey(question))).size > RULE_PLUGIN_CONDITIONS_MAX)
    errors['rule'] = [`The rule may not have more than ${RULE_PLUGIN_CONDITIONS_MAX} conditions of plugins.`];
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
}
