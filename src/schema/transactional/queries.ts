/** Reading the log of transactional mails. */
import { findOwnedMail, mailPage } from '../../domain/delivery/transactional/mail-log.ts';
import { mailFilterInput } from '../../domain/delivery/transactional/transactional.ts';
import { singleLine } from '../../lib/text.ts';
import { builder } from '../builder.ts';
import { DeliveryState } from '../campaigns/delivery.ts';
import { COUNTED_MAX } from '../limits.ts';
import { definePage, pageArgs, pageWindow } from '../page.ts';
import { reading, TransactionalMail } from './transactional-mail.ts';

const TransactionalMailPage = definePage('TransactionalMailPage', TransactionalMail, reading.scope);
const { email, templateUid, tag, externalId } = mailFilterInput.shape;

builder.queryField('transactionalPage', (t) =>
  t.field({
    type: TransactionalMailPage,
    description: `The customer’s transactional mails, by numbered pages, the newest first. \`total\` counts up to ${COUNTED_MAX}. They are kept as long as the ledger (KEEP_LEDGER_MONTHS).`,
    authScopes: reading,
    args: {
      state: t.arg({ type: DeliveryState, description: 'Only those in this state.' }),
      email: t.arg.string({ description: 'Only those to whoever has this address now.', check: email }),
      templateUid: t.arg.string({ description: 'Only those of this template.', check: templateUid }),
      tag: t.arg.string({ description: 'Only those with this tag.', check: tag }),
      externalId: t.arg.string({ description: 'Only those with this name of yours.', check: externalId }),
      createdFrom: t.arg({ type: 'DateTime' }),
      createdTo: t.arg({ type: 'DateTime' }),
      ...pageArgs(),
    },
    resolve: async (_root, args, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const window = { offset, limit: perPage, countedMax: COUNTED_MAX };
      return { ...(await mailPage(ctx, args, window)), page, perPage };
    },
  }),
);

builder.queryField('transactional', (t) =>
  t.field({
    type: TransactionalMail,
    description: 'One transactional mail.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, check: singleLine(64) }) },
    resolve: (_root, { uid }, ctx) => findOwnedMail(ctx, uid),
  }),
);
