/** How REST shows templates, and the shapes of its answers. */
import { z } from 'zod';
import type { RestTemplateFragment, RestTemplateRowFragment } from '../../generated/operations.ts';
import { actionShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

export const KINDS = ['transactional', 'optional', 'marketing'] as const;

/** A row of the index: without the html, which may have megabytes. */
export function presentTemplateRow(template: RestTemplateRowFragment) {
  return {
    uid: template.uid,
    name: template.name,
    kind: template.kind,
    subject: template.subject,
    preheader: template.preheader,
    version: template.version,
    created_at: restTime(template.createdAt),
    updated_at: restTime(template.updatedAt),
  };
}

export function presentTemplate(template: RestTemplateFragment) {
  return { ...presentTemplateRow(template), html: template.html, plain: template.plain };
}

/** What an act answers. */
export function presentActed(template: RestTemplateFragment) {
  return { template_uid: template.uid, template: presentTemplate(template) };
}

const rowParts = {
  uid: uidShape,
  name: z.string(),
  kind: z.enum(KINDS),
  subject: z.string(),
  preheader: z.string(),
  version: z.int(),
  created_at: timeShape,
  updated_at: timeShape,
};

export const templateRowShape = z.strictObject(rowParts).meta({ id: 'TemplateRow' });

const templateShape = z.strictObject({ ...rowParts, html: z.string(), plain: z.string() }).meta({ id: 'Template' });
export const oneTemplateShape = z.strictObject({ template: templateShape });
export const templateActionShape = actionShape({ template_uid: uidShape, template: templateShape });
export const templateDeletedShape = actionShape({ template_uid: uidShape });

export const builtInTemplateShape = z
  .strictObject({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    kind: z.enum(KINDS),
    subject: z.string(),
    preheader: z.string(),
    html: z.string(),
    plain: z.string().meta({ description: 'Empty: made from the html.' }),
  })
  .meta({ id: 'BuiltInTemplate' });

export const templatePreviewShape = z.strictObject({
  preview: z
    .strictObject({
      subject: z.string(),
      html: z.string().nullable(),
      plain: z.string(),
      size: z.int(),
      warnings: z.array(z.string()),
    })
    .meta({ id: 'TemplatePreview' }),
});

export const templateTestsShape = actionShape({
  template_uid: uidShape,
  tests: z.array(
    z
      .strictObject({
        email: z.string(),
        message_uid: uidShape.meta({ description: '`GET /messages/:uid` shows what becomes of it.' }),
      })
      .meta({ id: 'TemplateTest' }),
  ),
});
