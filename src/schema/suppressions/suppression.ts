/** Addresses that must not be mailed. */
import type { Suppressed } from '../../domain/audience/suppression-store.ts';
import { builder } from '../builder.ts';
import { SuppressionReason } from '../enums.ts';

export const EVERYWHERE = 'The list of the whole installation instead of one’s own; for administrators.';

export const Suppression = builder.objectRef<Suppressed>('Suppression').implement({
  description: 'An address that gets no mail, by any path.',
  authScopes: { scope: 'subscribers:read' },
  fields: (t) => ({
    email: t.exposeString('email', { description: 'In lower case.' }),
    reason: t.expose('reason', {
      type: SuppressionReason,
      description: '`manual`, `bounce`, `complaint` or `undeliverable`.',
    }),
    note: t.exposeString('note', { nullable: true }),
    addedByUid: t.exposeString('addedByUid', {
      nullable: true,
      description: 'The user who added it, if this is a user of the same customer.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});
