/** Checks a rule against its list: the fields and campaigns in it must exist. */
import { ValidationError } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { checkPluginConditions, type PlacedCondition } from './check-plugin-conditions.ts';
import { hasOptions, optionOf, type FieldKind } from '../field-value.ts';
import { fieldsOfList } from '../list-field-store.ts';
import { foreignRuleCampaign, ruleCampaignNotFound } from './segment-errors.ts';
import { parseRule } from './parse-rule.ts';
import { campaignsNamed } from './segment-store.ts';
import type { CampaignChoice, Condition, FieldCondition, SegmentRule } from './segment.ts';

interface RuleList {
  readonly customerId: bigint;
  readonly id: bigint;
}

/**
 * A caller's rule for a list. Throws ValidationError (fields `rule…`), and for its campaigns NotFoundError `CAMPAIGN_NOT_FOUND`
 * or ForeignResourceError of the same code.
 */
export async function checkedRule(ctx: Context, list: RuleList, given: unknown): Promise<SegmentRule> {
  const rule = parseRule(given);
  const conditions = [...conditionsOf(rule, 'rule')];
  await checkFields(ctx, list, conditions);
  await checkCampaigns(ctx, list, conditions);
  await checkPluginConditions(ctx, list.customerId, conditions);
  return rule;
}

function* conditionsOf(rule: SegmentRule, path: string): Generator<PlacedCondition> {
  for (const name of ['all', 'any', 'none'] as const) {
    const inner = (rule as Partial<Record<typeof name, readonly SegmentRule[]>>)[name];
    if (!inner) continue;
    for (const [no, one] of inner.entries()) yield* conditionsOf(one, `${path}.${name}.${no}`);
    return;
  }
  yield { path, condition: rule as Condition };
}

const NO_FIELD = 'The list has no such field.';

/** The field whose changes a condition counts. */
function changedField({ path, condition }: PlacedCondition) {
  const [name, asked] =
    'did' in condition ? ['did', condition.did] : 'didNot' in condition ? ['didNot', condition.didNot] : [];
  return asked && 'kind' in asked && asked.field !== undefined
    ? [{ path: `${path}.${name}.field`, tag: asked.field }]
    : [];
}

async function checkFields(ctx: Context, list: RuleList, conditions: readonly PlacedCondition[]): Promise<void> {
  const asked = conditions.flatMap(({ path, condition }) =>
    'field' in condition ? [{ path: `${path}.field`, field: condition.field }] : [],
  );
  const changed = conditions.flatMap(changedField);
  if (asked.length === 0 && changed.length === 0) return;
  const kinds = new Map((await fieldsOfList(ctx.db, list)).map((field) => [field.tag, field]));
  const errors: Record<string, string[]> = {};
  for (const { path, tag } of changed) if (!kinds.has(tag)) errors[path] = [NO_FIELD];
  for (const { path, field } of asked) {
    const kind = kinds.get(field.tag);
    if (kind === undefined) errors[`${path}.tag`] = [NO_FIELD];
    else {
      const fault = conditionFault(field, kind);
      if (fault) errors[`${path}.${readingOf(field)}`] = [`The field ${field.tag} ${fault}.`];
    }
  }
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
}

/** The conditions of a rule on the field that would not fit a field of this kind. */
export function unfitConditions(rule: SegmentRule, tag: string, kind: FieldKind): readonly FieldCondition[] {
  return [...conditionsOf(rule, 'rule')].flatMap(({ condition }) =>
    'field' in condition && condition.field.tag === tag && conditionFault(condition.field, kind)
      ? [condition.field]
      : [],
  );
}

/** Why the condition does not fit a field of this kind, as the end of a sentence. */
function conditionFault(field: FieldCondition, kind: FieldKind): string | undefined {
  const isOfType = `is of the type ${kind.type}`;
  // A condition on text may name a field of any type: each value can be compared as text.
  if ('text' in field) return undefined;
  if ('number' in field) return kind.type === 'number' ? undefined : isOfType;
  if ('datetime' in field) return kind.type === 'datetime' || kind.type === 'date' ? undefined : isOfType;
  if (!hasOptions(kind.type)) return isOfType;
  const named = 'isEmpty' in field.options ? [] : Object.values(field.options).flat();
  const unknown = named.find((option) => optionOf(kind, option) === undefined);
  return unknown === undefined ? undefined : `has no option “${unknown}”`;
}

function readingOf(field: FieldCondition): 'text' | 'number' | 'datetime' | 'options' {
  if ('text' in field) return 'text';
  if ('number' in field) return 'number';
  return 'datetime' in field ? 'datetime' : 'options';
}

async function checkCampaigns(ctx: Context, list: RuleList, conditions: readonly PlacedCondition[]): Promise<void> {
  const asked = conditions.flatMap(({ path, condition }) => {
    const choice = choiceOf(condition);
    return choice && 'uids' in choice ? [{ path, uids: choice.uids }] : [];
  });
  const uids = [...new Set(asked.flatMap((one) => one.uids))];
  if (uids.length === 0) return;
  const rows = await campaignsNamed(ctx.db, uids);
  const own = new Map(rows.filter((row) => row.customerId === list.customerId).map((row) => [row.uid, row]));
  const missing = uids.filter((uid) => !own.has(uid));
  if (missing.length > 0)
    throw rows.some((row) => missing.includes(row.uid)) ? foreignRuleCampaign() : ruleCampaignNotFound();
  const elsewhere = asked.filter((one) => one.uids.some((uid) => own.get(uid)?.listId !== list.id));
  if (elsewhere.length > 0)
    throw new ValidationError(
      Object.fromEntries(
        elsewhere.map(({ path }) => [path, ['A campaign to another list cannot be used in a rule of this list.']]),
      ),
    );
}

function choiceOf(condition: Condition): CampaignChoice | undefined {
  if ('opened' in condition) return condition.opened.campaigns;
  if ('clicked' in condition) return condition.clicked.campaigns;
  return 'received' in condition ? condition.received.campaigns : undefined;
}
