/** A flow as one JSON document, to be moved to another list or installation: the graph as it is, and what its uids, tags and names mean. */
import { z } from 'zod';
import { singleLine } from '../../../lib/text.ts';
import { TEMPLATE_KINDS } from '../../content/templates/template.ts';
import { AUTOMATION_NAME_MAX } from '../automation.ts';
import { REFERENCE_KINDS, type ReferenceKind } from './flow-references-map.ts';

export const FLOW_FORMAT = 'mailwright.flow.1';

/** More than a flow can name. */
const REFERENCES_MAX = 2_000;
const NAME_MAX = 1_000;

const texts = { subject: z.string(), preheader: z.string(), html: z.string(), plain: z.string() };

/** With texts a template is made of it when the document is imported. */
const reference = z.strictObject({
  /** For people, and to find the same thing elsewhere; of a field its label. */
  name: z.string().max(NAME_MAX),
  /** Of a field. */
  type: z.string().max(NAME_MAX).optional(),
  kind: z.enum(TEMPLATE_KINDS).optional(),
  texts: z.strictObject(texts).optional(),
});
export type FlowReference = z.output<typeof reference>;

const limited = <Value extends z.ZodType>(value: Value) =>
  z
    .record(z.string(), value)
    .refine((given) => Object.keys(given).length <= REFERENCES_MAX, `must not have more than ${REFERENCES_MAX} names`);

const byKind = <Value extends z.ZodType>(value: Value) =>
  z.partialRecord(z.enum(REFERENCE_KINDS), limited(value)).default({});

export const flowDocument = z.strictObject({
  format: z.literal(FLOW_FORMAT),
  name: singleLine(AUTOMATION_NAME_MAX),
  flow: z.record(z.string(), z.unknown()),
  references: byKind(reference),
});
export type FlowDocument = z.output<typeof flowDocument>;

/** What stands here for something in the document: `{"fields": {"BIRTHDAY": "DATE_OF_BIRTH"}}`. */
export const flowMapping = byKind(z.string().max(NAME_MAX));
export type FlowMapping = z.output<typeof flowMapping>;

/** One of them, in sentences. */
export const KIND_WORD: Readonly<Record<ReferenceKind, string>> = {
  ...{ templates: 'template', lists: 'list', segments: 'segment', automations: 'automation', campaigns: 'campaign' },
  ...{ fields: 'field', events: 'event' },
};
