/** Reading the log of messages that are not of a campaign. */
import { findOwnedMessage, messageFilterInput, messagePage } from '../../domain/delivery/messages/message-log.ts';
import { singleLine } from '../../lib/text.ts';
import { builder } from '../builder.ts';
import { DeliveryState } from '../campaigns/delivery.ts';
import { MessagePurpose } from './words.ts';
import { COUNTED_MAX } from '../limits.ts';
import { definePage, pageArgs, pageWindow } from '../page.ts';
import { Message } from './message.ts';

const SCOPE = { scope: 'campaigns:read' } as const;
const MessagePage = definePage('MessagePage', Message, SCOPE.scope);

builder.queryField('messagesPage', (t) =>
  t.field({
    type: MessagePage,
    description: `The customer’s messages that are not of a campaign, by numbered pages, the newest first. \`total\` counts up to ${COUNTED_MAX}. They are kept as long as the ledger (KEEP_LEDGER_MONTHS).`,
    authScopes: SCOPE,
    args: {
      purpose: t.arg({ type: MessagePurpose, description: 'Only these.' }),
      state: t.arg({ type: DeliveryState, description: 'Only those in this state.' }),
      email: t.arg.string({
        description: 'Only those to whoever has this address now.',
        check: messageFilterInput.shape.email,
      }),
      ...pageArgs(),
    },
    resolve: async (_root, args, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const window = { offset, limit: perPage, countedMax: COUNTED_MAX };
      return { ...(await messagePage(ctx, args, window)), page, perPage };
    },
  }),
);

builder.queryField('message', (t) =>
  t.field({
    type: Message,
    description: 'One of these messages.',
    authScopes: SCOPE,
    args: { uid: t.arg.string({ required: true, check: singleLine(64) }) },
    resolve: (_root, { uid }, ctx) => findOwnedMessage(ctx, uid),
  }),
);
