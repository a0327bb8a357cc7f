/** The draft of an automation as one document, with the names of all that it refers to. */
import { fieldsOfList } from '../../audience/list-field-store.ts';
import type { Context } from '../../context.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { FLOW_FORMAT, type FlowDocument, type FlowReference } from './flow-document.ts';
import { referencesIn, type ReferenceKind } from './flow-references-map.ts';
import { thingsNamed } from './named-things-read-model.ts';

/** What is gone, or is no name of this list, has no reference. Throws `AUTOMATION_NOT_FOUND`. */
export async function exportAutomation(ctx: Context, uid: string): Promise<FlowDocument> {
  const { customerId, listId, name, draft } = await findOwnedAutomation(ctx, uid);
  const used = referencesIn(draft);
  const uids = [...used].flatMap(([kind, values]) => (kind === 'fields' || kind === 'events' ? [] : [...values]));
  const things = await thingsNamed(ctx.db, { customerId, listId, uids, names: [] });
  const fields = await fieldsOfList(ctx.db, { customerId, id: listId });
  const known: readonly (readonly [ReferenceKind, string, FlowReference])[] = [
    ...things.map(
      ({ kind, uid: own, name: called, templateKind }) =>
        [kind, own, { name: called, ...(templateKind === null ? {} : { kind: templateKind }) }] as const,
    ),
    ...fields.map(({ tag, label, type }) => ['fields', tag, { name: label, type }] as const),
    ...[...(used.get('events') ?? [])].map((event) => ['events', event, { name: event }] as const),
  ];
  const references: FlowDocument['references'] = {};
  for (const [kind, value, reference] of known) {
    if (used.get(kind)?.has(value)) references[kind] = { ...references[kind], [value]: reference };
  }
  return { format: FLOW_FORMAT, name, flow: typeof draft === 'object' ? { ...draft } : {}, references };
}
