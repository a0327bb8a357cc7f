/** Messages that are not of a campaign, with what became of them. */
import { deliveryReasonText } from '../../domain/sending/delivery-reason.ts';
import type { LoggedMessage } from '../../domain/delivery/messages/message-log-read-model.ts';
import { messageUid, subscriberUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { DeliveryState } from '../campaigns/delivery.ts';
import { MessageKind, MessagePurpose } from './words.ts';

export const Message = builder.objectRef<LoggedMessage>('Message').implement({
  description:
    'A message that is not of a campaign: a mail of a list or of a flow, the test of a campaign, a notice of the program.',
  authScopes: { scope: 'campaigns:read' },
  fields: (t) => ({
    uid: t.string({ resolve: ({ id }) => messageUid(id) }),
    purpose: t.expose('purpose', { type: MessagePurpose }),
    kind: t.expose('kind', { type: MessageKind }),
    email: t.exposeString('email', {
      description: 'The address that it went or goes to. Empty: the person was erased.',
    }),
    subscriberUid: t.string({
      nullable: true,
      description: 'The person on the list; null: the message goes to an address by itself.',
      resolve: ({ subscriberId }) => (subscriberId === null ? null : subscriberUid(subscriberId)),
    }),
    listUid: t.exposeString('listUid', {
      nullable: true,
      description: 'The list whose mail it is, if it still exists.',
    }),
    campaignUid: t.exposeString('campaignUid', {
      nullable: true,
      description: 'The campaign that it is a test of, if it still exists.',
    }),
    automationUid: t.exposeString('automationUid', {
      nullable: true,
      description: 'The automation whose flow sends it, if it still exists.',
    }),
    state: t.expose('state', { type: DeliveryState }),
    reason: t.string({
      nullable: true,
      description: 'Why it is in this state, as of a campaign’s deliveries.',
      resolve: ({ reason }) => reason && deliveryReasonText(reason),
    }),
    reply: t.exposeString('reply', {
      nullable: true,
      description: 'The last reply of the receiving server; of a message that could not be composed, why not.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Tries that reached a server.' }),
    ambiguousCount: t.exposeInt('ambiguousCount', {
      description: 'Tries with an unknown outcome: so many further copies may have arrived.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    sendAt: t.expose('sendAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is to be sent; null: at once.',
    }),
    notBefore: t.expose('notBefore', {
      type: 'DateTime',
      nullable: true,
      description: 'The next try is not before this time.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});
