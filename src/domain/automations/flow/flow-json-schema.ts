/**
 * The JSON Schema of a flow, for editors and programs that write flows. It is made from the checks themselves, so it is never another opinion.
 * What it cannot say (ids that exist, ways round, references) is checked by `check`.
 */
import { z } from 'zod';
import { conditionSchemas, singleValued } from '../../audience/segments/conditions.ts';
import { RULE_CONDITIONS_MAX } from '../../audience/segments/segment.ts';
import { flowConditions, tooDeep } from './flow-condition.ts';
import { awaitedEvent, duration, nodeId, payloadCondition, START } from './flow-parts.ts';
import { parsedRule } from './flow-rule.ts';
import { node, wayOut } from './flow-nodes.ts';
import { trigger } from './flow-triggers.ts';
import { flow } from './flow.ts';

type JsonSchema = Record<string, unknown>;

const DEFINITIONS = '#/$defs/';
const RULE = 'segment_rule';

/** A rule of a segment: one group, or one condition. */
const ruleGroup = z.array(parsedRule).min(1).max(RULE_CONDITIONS_MAX).optional();
const segmentRule = z.strictObject({
  ...{ all: ruleGroup, any: ruleGroup, none: ruleGroup },
  ...Object.fromEntries(Object.entries(conditionSchemas).map(([name, schema]) => [name, schema.optional()])),
});

/** Objects of which exactly one property is given, besides those of segments. */
const SINGLE: ReadonlySet<object> = new Set([duration, segmentRule, ...flowConditions]);

/** Shared ones, and what they are called. */
function definitions() {
  const named = z.registry<{ id: string }>();
  const levels = flowConditions.map((one, no) => [`condition${no === 0 ? '' : `_${no + 1}`}`, one] as const);
  const all: readonly (readonly [string, z.ZodType])[] = [
    ...levels,
    ...Object.entries(conditionSchemas).map(([name, schema]) => [`segment_${name}`, schema] as const),
    ...([
      ['duration', duration],
      ['node_id', nodeId],
      ['payload_condition', payloadCondition],
    ] as const),
    ...([
      ['event', awaitedEvent],
      ['trigger', trigger],
      ['node', node],
      ['way_out', wayOut],
    ] as const),
  ];
  const seen = new Set<z.ZodType>();
  for (const [id, schema] of all) {
    if (!seen.has(schema)) named.add(schema, { id });
    seen.add(schema);
  }
  return named;
}

/** The whole schema. `address`: where it is read, its id. */
export function flowJsonSchema(address: string): JsonSchema {
  const options = { io: 'input', unrepresentable: 'any', metadata: definitions(), override: rewrite } as const;
  const whole = z.toJSONSchema(flow, options);
  const rule = z.toJSONSchema(segmentRule, options);
  const { $schema: _dialect, $defs: ofRule, ...ruleItself } = rule;
  return {
    ...{ $schema: whole.$schema, $id: address, title: 'The flow of an automation' },
    description:
      'Property names that are not known are refused. What a flow means as a whole is checked by the product.',
    ...whole,
    $defs: { ...sorted({ ...ofRule, ...whole.$defs, [RULE]: ruleItself }) },
  };
}

function sorted(all: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Removes what has no meaning, and adds what the library cannot write. */
function rewrite({ zodSchema, jsonSchema }: { zodSchema: object; jsonSchema: JsonSchema }): void {
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  if (SINGLE.has(zodSchema) || singleValued.has(zodSchema))
    Object.assign(jsonSchema, { minProperties: 1, maxProperties: 1 });
  if (zodSchema === nodeId) jsonSchema['not'] = { const: START };
  if (zodSchema === tooDeep) jsonSchema['not'] = {};
  if (zodSchema === parsedRule) jsonSchema['$ref'] = `${DEFINITIONS}${RULE}`;
  if (zodSchema === wayOut) jsonSchema['oneOf'] = oneRequired('event', 'person');
  if (zodSchema === payloadCondition) jsonSchema['oneOf'] = oneRequired('text', 'number', 'isPresent');
  if (zodSchema === conditionSchemas.did || zodSchema === conditionSchemas.didNot)
    jsonSchema['oneOf'] = oneRequired('event', 'kind');
  if (zodSchema === conditionSchemas.field) jsonSchema['oneOf'] = oneRequired('text', 'number', 'datetime', 'options');
}

function oneRequired(...names: string[]) {
  return names.map((name) => ({ required: [name] }));
}
