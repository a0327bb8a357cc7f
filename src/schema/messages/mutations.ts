/** Deciding about mails of automations whose outcome is unknown. */
import { decideUnknownMessage } from '../../domain/delivery/flow-mails/decide-unknown-message.ts';
import { builder } from '../builder.ts';
import { UnknownDecision } from '../campaigns/unknown-decision.ts';
import { Message } from './message.ts';

builder.mutationField('decideUnknownMessage', (t) =>
  t.field({
    type: Message,
    description:
      'Decides by hand about a mail of an automation with the state `unknown`: it was handed over, and the server never answered. Its text is kept for 7 days: after that it cannot be sent again.',
    authScopes: { scope: 'campaigns:write' },
    args: {
      uid: t.arg.string({ required: true }),
      decision: t.arg({ type: UnknownDecision, required: true }),
    },
    resolve: (_root, { uid, decision }, ctx) => decideUnknownMessage(ctx, uid, decision),
  }),
);
