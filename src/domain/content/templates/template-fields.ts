/** The fields of a template: each one's column and the check of its input, and all columns that the verbs read. */
import { z } from 'zod';
import { checksOf, type Field, type RowOfFields, type ValuesOf } from '../../../db/fields.ts';
import { typed } from '../../../db/row.ts';
import { singleLine } from '../../../lib/text.ts';
import { SUBJECT_LENGTH_MAX } from '../message.ts';
import { given, textChecks } from '../text-checks.ts';
import { TEMPLATE_KINDS, TEMPLATE_NAME_LENGTH_MAX, type TemplateKind } from './template.ts';

/** Undefined changes nothing. */
export const templateFields = {
  name: { column: 'name', type: 'text', check: given(singleLine(TEMPLATE_NAME_LENGTH_MAX)) },
  kind: { column: 'kind', type: typed<TemplateKind>('text'), check: given(z.string().pipe(z.enum(TEMPLATE_KINDS))) },
  subject: { column: 'subject', type: 'text', check: given(singleLine(SUBJECT_LENGTH_MAX)) },
  preheader: { column: 'preheader', type: 'text', check: textChecks.preheader },
  html: { column: 'html', type: 'text', check: textChecks.html },
  plain: { column: 'plain', type: 'text', check: textChecks.plain },
} satisfies Record<string, Field>;

export const templateColumns = {
  id: { column: 'id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  customerId: { column: 'customer_id', type: 'bigint' },
  ...templateFields,
  version: { column: 'version', type: 'int' },
} satisfies Record<string, Field>;

/** A template as the verbs see it. */
export type Template = RowOfFields<typeof templateColumns>;
export type TemplateValues = ValuesOf<typeof templateFields>;

const needed = z.string().min(1);
const checks = checksOf(templateFields);

export const createTemplateInput = z.object({
  ...checks,
  name: checks.name.pipe(needed),
  subject: checks.subject.pipe(needed),
});

export const updateTemplateInput = z.object({
  ...checks,
  /** The version that the caller has read; another one by now is refused. */
  version: z.int().min(1).nullish(),
});

export type CreateTemplateInput = z.input<typeof createTemplateInput>;
export type UpdateTemplateInput = z.input<typeof updateTemplateInput>;

export const templateNameInput = z.object({ name: checks.name });
