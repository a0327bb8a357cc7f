/** What a flow refers to on its list: fields that exist and take the value, and rules whose fields, tags and campaigns exist (D91). */
import { ValidationError } from '../../../lib/errors.ts';
import { FIELD_VALUE_FAULTS, readFieldValue } from '../../audience/field-value.ts';
import { fieldsOfList } from '../../audience/list-field-store.ts';
import { findList } from '../../audience/list-store.ts';
import { checkedRule } from '../../audience/segments/check-rule.ts';
import { findSegment } from '../../audience/segments/segment-store.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { Context } from '../../context.ts';
import { campaignsOfList } from '../work/activity-read-model.ts';
import { questionsOf } from './flow-condition.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import type { FlowNode } from './flow-nodes.ts';
import type { Flow } from './flow.ts';

interface ListKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

type Fields = ReadonlyMap<string, Awaited<ReturnType<typeof fieldsOfList>>[number]>;

const DATE_TYPES: readonly string[] = ['date', 'datetime'];

/** The faults; throws what checking a rule throws for campaigns that do not exist or are another customer's. */
export async function referenceFaults(
  ctx: Context,
  list: ListKey,
  { nodes, triggers, goals, exits }: Flow,
): Promise<FlowFault[]> {
  const fields: Fields = new Map((await fieldsOfList(ctx.db, list)).map((field) => [field.tag, field]));
  const faults = nodes.flatMap((node) => fieldFaults(node, fields));
  for (const node of nodes)
    if (node.type === 'copy_to_list' || node.type === 'move_to_list')
      faults.push(...(await listFaults(ctx, list, node)));
  for (const node of nodes) {
    if (node.type !== 'condition') continue;
    for (const question of questionsOf(node.if))
      if ('person' in question)
        faults.push(...(await ruleFaults(ctx, list, { node: node.id, place: 'if.person' }, question.person)));
  }
  for (const { id, person } of [...goals, ...exits])
    if (person) faults.push(...(await ruleFaults(ctx, list, { node: id, place: 'person' }, person)));
  for (const [no, trigger] of triggers.entries())
    faults.push(...(await triggerFaults(ctx, list, { no, trigger, fields })));
  return faults;
}

async function listFaults(
  { db }: Context,
  { customerId, id }: ListKey,
  node: Extract<FlowNode, { type: 'copy_to_list' | 'move_to_list' }>,
): Promise<FlowFault[]> {
  const other = await findList(db, { customerId, uid: node.listUid });
  if (!other) return [flowFault('unknown_list', 'There is no list with this uid.', node.id, 'listUid')];
  return other.id === id
    ? [flowFault('same_list', 'The person is on this list already: name another one.', node.id, 'listUid')]
    : [];
}

interface TriggerAt {
  readonly no: number;
  readonly trigger: Flow['triggers'][number];
  readonly fields: Fields;
}

async function triggerFaults(ctx: Context, list: ListKey, { no, trigger, fields }: TriggerAt): Promise<FlowFault[]> {
  const faults =
    'if' in trigger && trigger.if
      ? await ruleFaults(ctx, list, { node: null, place: `triggers.${no}.if` }, trigger.if)
      : [];
  if ('field' in trigger) {
    const field = fields.get(trigger.field);
    const place = `triggers.${no}.field`;
    if (!field) faults.push(unknownField(trigger.field, null, place));
    else if (trigger.type === 'date_field' && !DATE_TYPES.includes(field.type))
      faults.push(noDates(field, null, place));
  }
  if ('campaignUid' in trigger && trigger.campaignUid !== undefined) {
    const found = await campaignsOfList(ctx.db, list, [trigger.campaignUid]);
    if (!found.has(trigger.campaignUid)) faults.push(unknownCampaign(`triggers.${no}.campaignUid`));
  }
  if (!('segmentUid' in trigger)) return faults;
  const segment = await findSegment(ctx.db, { customerId: list.customerId, uid: trigger.segmentUid });
  if (segment?.listId === list.id) return faults;
  return [
    ...faults,
    flowFault('unknown_segment', 'The list has no segment with this uid.', null, `triggers.${no}.segmentUid`),
  ];
}

function unknownCampaign(place: string): FlowFault {
  return flowFault('unknown_campaign', 'No campaign with this uid goes to the list.', null, place);
}

function unknownField(tag: string, node: string | null, place: string): FlowFault {
  return flowFault('unknown_field', `The list has no field ${tag}.`, node, place);
}

function noDates(
  { tag, type }: { readonly tag: string; readonly type: string },
  node: string | null,
  place: string,
): FlowFault {
  return flowFault('no_date_field', `The field ${tag} is of the type ${type}: it has no dates.`, node, place);
}

function fieldFaults(node: FlowNode, fields: Fields): FlowFault[] {
  if ((node.type !== 'set_field' && node.type !== 'wait_until') || node.field === undefined) return [];
  const field = fields.get(node.field);
  if (!field) return [unknownField(node.field, node.id, 'field')];
  if (node.type === 'wait_until') return DATE_TYPES.includes(field.type) ? [] : [noDates(field, node.id, 'field')];
  if (node.value === '') return [];
  const read = readFieldValue(field, node.value);
  if (read.fault === undefined) return [];
  return [flowFault('wrong_value', `The field ${node.field} ${FIELD_VALUE_FAULTS[read.fault]}.`, node.id, 'value')];
}

async function ruleFaults(
  ctx: Context,
  list: ListKey,
  { node, place: at }: { readonly node: string | null; readonly place: string },
  rule: SegmentRule,
): Promise<FlowFault[]> {
  try {
    await checkedRule(ctx, list, rule);
    return [];
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    return Object.entries(error.fields).flatMap(([place, sentences]) =>
      sentences.map((sentence) => flowFault('unknown_reference', sentence, node, place.replace(/^rule/, at))),
    );
  }
}
