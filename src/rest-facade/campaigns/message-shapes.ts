/** What the rows of attachments, previews, tests and dry runs answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

const attachmentShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    inline: z.boolean(),
    missing: z.boolean(),
    content_type: z.string().nullable(),
    size: z.int().nullable(),
    url: z.string().nullable(),
  })
  .meta({ id: 'CampaignAttachment' });

export const attachmentsShape = z.strictObject({ attachments: z.array(attachmentShape) });
export const attachedShape = actionShape({
  campaign_uid: uidShape,
  attachment_uid: uidShape,
  attachment: attachmentShape,
});
export const detachedShape = actionShape({ campaign_uid: uidShape });

export const previewShape = z.strictObject({
  preview: z
    .strictObject({
      subject: z.string(),
      html: z.string().nullable(),
      plain: z.string(),
      headers: z.array(z.strictObject({ name: z.string(), value: z.string() })),
      size: z.int(),
      links: z.array(z.string()),
      warnings: z.array(z.string()),
      url: z.string().nullable(),
      url_expires_at: timeShape.nullable(),
    })
    .meta({ id: 'CampaignPreview' }),
});

const testShape = z
  .strictObject({
    email: z.string(),
    status: z.enum(['queued', 'sending', 'sent', 'failed', 'suppressed']),
    reply: z.string().nullable(),
    created_at: timeShape,
  })
  .meta({ id: 'TestMessage' });

export const testsQueuedShape = actionShape({ campaign_uid: uidShape, tests: z.array(testShape) });
export const testsShape = z.strictObject({ tests: z.array(testShape) });

const dryRunShape = z
  .strictObject({
    status: z.enum(['queued', 'running', 'done', 'cancelled', 'failed']),
    status_reason: z.string().nullable(),
    total: countShape,
    looked_at: countShape,
    composed: countShape,
    skipped: z.record(z.string(), countShape),
    faulty: countShape,
    faults: z.array(z.strictObject({ subscriber_uid: uidShape, email: z.string().nullable(), message: z.string() })),
    total_bytes: countShape,
    largest_bytes: countShape,
    work_seconds: z.number(),
    created_at: timeShape,
    started_at: timeShape.nullable(),
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'DryRun' });

export const dryRunActionShape = actionShape({ campaign_uid: uidShape, dry_run: dryRunShape });
export const oneDryRunShape = z.strictObject({ dry_run: dryRunShape.nullable() });
