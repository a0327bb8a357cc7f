/** What the rows of a list's own mails answer: an extension of the specification. */
import { z } from 'zod';
import { actionShape, timeShape } from '../shapes.ts';

const mailShape = z
  .strictObject({
    kind: z.enum(['confirmation', 'welcome', 'goodbye', 'unsubscribe-notification']),
    subject: z.string(),
    html: z.string(),
    plain: z.string(),
    changed_at: timeShape.nullable(),
  })
  .meta({ id: 'ListMail' });

export const listMailsShape = z.strictObject({ templates: z.array(mailShape) });
export const listMailActionShape = actionShape({ template: mailShape });
export const listMailPreviewShape = z.strictObject({
  preview: z.strictObject({
    subject: z.string(),
    html: z.string(),
    plain: z.string(),
    warnings: z.array(z.string()),
  }),
});
