/** Makes an automation of a flow document: each reference becomes one of this account. */
import { z } from 'zod';
import { assert, ValidationError } from '../../../lib/errors.ts';
import { parseInput } from '../../../lib/text.ts';
import { holdsScope } from '../../accounts/scopes.ts';
import { lockOwnedList } from '../../audience/find-owned-list.ts';
import { addTemplate } from '../../content/templates/add-template.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { makesTemplates } from '../automation-errors.ts';
import { checkedDraft, checkedObject } from '../flow/checked-draft.ts';
import { createAutomation, createAutomationInput } from '../create-automation.ts';
import { flowDocument, flowMapping, type FlowDocument } from './flow-document.ts';
import { FLOW_NODES_MAX } from '../flow/flow.ts';
import { withReferences } from './flow-references-map.ts';
import { placeOf, resolveReferences } from './resolve-references.ts';

/** A flow, and the texts of its mails. */
const DOCUMENT_BYTES_MAX = 4 * 1024 * 1024;

const importInput = z.object({ document: flowDocument });
const optionsInput = z.object({ listUid: createAutomationInput.shape.listUid, mapping: flowMapping });

export interface ImportOptions {
  readonly listUid: string;
  /** Empty or absent: that of the document. */
  readonly name?: string | null | undefined;
  /** By kind: what stands here for a name in the document. */
  readonly mapping?: unknown;
}

/**
 * Returns the uid. References that are not found are named together, on `mapping`. Throws ValidationError (also `PLAN_LIMIT_REACHED`,
 * `TOO_MANY_AUTOMATIONS`), `LIST_NOT_FOUND`; where templates are made of the document's texts, `TOO_MANY_TEMPLATES`, and ForbiddenError
 * `TEMPLATES_WRITE_NEEDED` without the right to.
 */
export async function importAutomation(
  ctx: Context,
  { document: given, ...options }: ImportOptions & { readonly document: unknown },
): Promise<{ uid: string }> {
  const rule = { name: 'document', parts: 'format, name, flow and references', bytesMax: DOCUMENT_BYTES_MAX } as const;
  const { document } = parseInput(importInput, { document: checkedObject(given, rule) });
  // Nothing is looked for that a draft could not have.
  checkedDraft(document.flow);
  return importDocument(ctx, document, options);
}

/** The same for a document that is right. */
export async function importDocument(ctx: Context, document: FlowDocument, options: ImportOptions) {
  const { name, mapping: given } = options;
  const { listUid, mapping } = parseInput(optionsInput, { listUid: options.listUid, mapping: given ?? {} });
  return inTransaction(ctx, async (tx) => {
    const list = await lockOwnedList(tx, listUid);
    const { known, toMake } = await resolveReferences(tx, { document, mapping, list });
    if (toMake.length > FLOW_NODES_MAX) throw tooManyTexts();
    const names = new Map(known);
    if (toMake.length > 0 && !holdsScope(viewerOf(tx).scopes, 'templates:write')) throw makesTemplates();
    for (const uid of toMake) names.set(placeOf('templates', uid), await makeTemplate(tx, document, { uid, known }));
    const flow = withReferences(document.flow, (kind, value) => names.get(placeOf(kind, value)) ?? value);
    return createAutomation(tx, { listUid, name: name?.trim() ? name : document.name, flow });
  });
}

const tooManyTexts = () =>
  new ValidationError({ document: [`The document may have the texts of at most ${FLOW_NODES_MAX} templates.`] });

/** `{FIRST_NAME}` in a text. */
const TAG_IN_TEXT = /\{([^{}]+)\}/g;

/** Fields of other tags have them in the texts, too. */
async function makeTemplate(
  ctx: Context,
  { references }: FlowDocument,
  { uid, known }: { readonly uid: string; readonly known: ReadonlyMap<string, string> },
): Promise<string> {
  const reference = references.templates?.[uid];
  assert(reference?.texts, 'a template that is made has texts');
  // All at once: one field's new tag may be another one's old tag.
  const inTags = (text: string) =>
    text.replace(TAG_IN_TEXT, (all, tag: string) => {
      const own = known.get(placeOf('fields', tag));
      return own === undefined ? all : `{${own}}`;
    });
  const { subject, preheader, html, plain } = reference.texts;
  const made = await addTemplate(ctx, {
    ...{ name: reference.name, kind: reference.kind, subject: inTags(subject), preheader: inTags(preheader) },
    ...{ html: inTags(html), plain: inTags(plain) },
  });
  return made.uid;
}
