/** How REST shows transactional mails, and the shapes of its answers. */
import { z } from 'zod';
import type { RestTransactionalMailFragment } from '../../generated/operations.ts';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

export const transactionalShape = z
  .strictObject({
    uid: uidShape,
    kind: z.string(),
    email: z.string(),
    template_uid: uidShape.nullable(),
    list_uid: uidShape.nullable(),
    state: z.string(),
    reason: z.string().nullable(),
    reply: z.string().nullable(),
    attempts: countShape,
    ambiguous_count: countShape,
    external_id: z.string().nullable(),
    tags: z.array(z.string()),
    content_kept: z.boolean(),
    open_count: countShape,
    click_count: countShape,
    last_open_at: timeShape.nullable(),
    last_click_at: timeShape.nullable(),
    bounce_type: z.string().nullable(),
    bounced_at: timeShape.nullable(),
    complained_at: timeShape.nullable(),
    created_at: timeShape,
    send_at: timeShape.nullable(),
    not_before: timeShape.nullable(),
    updated_at: timeShape,
  })
  .meta({ id: 'TransactionalMail' });

export const acceptedShape = actionShape({
  mails: z.array(
    z
      .strictObject({ email: z.string(), uid: uidShape.nullable(), state: z.string(), reason: z.string().nullable() })
      .meta({ id: 'AcceptedMail' }),
  ),
});

export const changedShape = actionShape({ transactional_uid: uidShape });

export function presentMail(mail: RestTransactionalMailFragment) {
  const { uid, kind, email, state, reason, reply, attempts, tags } = mail;
  return {
    ...{ uid, kind, email },
    template_uid: mail.templateUid,
    list_uid: mail.listUid,
    ...{ state, reason, reply, attempts },
    ambiguous_count: mail.ambiguousCount,
    external_id: mail.externalId,
    tags,
    content_kept: mail.isContentKept,
    open_count: mail.openCount,
    click_count: mail.clickCount,
    last_open_at: restTime(mail.lastOpenAt),
    last_click_at: restTime(mail.lastClickAt),
    bounce_type: mail.bounceType,
    bounced_at: restTime(mail.bouncedAt),
    complained_at: restTime(mail.complainedAt),
    created_at: restTime(mail.createdAt),
    send_at: restTime(mail.sendAt),
    not_before: restTime(mail.notBefore),
    updated_at: restTime(mail.updatedAt),
  };
}
