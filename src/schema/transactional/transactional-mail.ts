/** Transactional mails, with what became of them. */
import type { LoggedMail } from '../../domain/delivery/transactional/mail-log-read-model.ts';
import type {
  AcceptedMail as Accepted,
  AcceptedState as StateOfAccepted,
} from '../../domain/delivery/transactional/transactional.ts';
import { deliveryReasonText } from '../../domain/sending/delivery-reason.ts';
import { messageUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { DeliveryState } from '../campaigns/delivery.ts';
import { closedSet } from '../enums.ts';
import { MessageKind } from '../messages/words.ts';

export const reading = { scope: 'transactional:read' } as const;
export const sending = { scope: 'transactional:send' } as const;

export const TransactionalMail = builder.objectRef<LoggedMail>('TransactionalMail').implement({
  description: 'A transactional mail to one address.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.string({ resolve: ({ id }) => messageUid(id) }),
    kind: t.expose('kind', { type: MessageKind }),
    state: t.expose('state', { type: DeliveryState }),
    email: t.exposeString('email', { description: 'The address that it goes to. Empty: the person was erased.' }),
    templateUid: t.exposeString('templateUid', {
      nullable: true,
      description: 'Its template, if it has one that still exists.',
    }),
    listUid: t.exposeString('listUid', {
      nullable: true,
      description: 'The list from which its reader can unsubscribe, if it has one that still exists.',
    }),
    externalId: t.exposeString('externalId', { nullable: true }),
    reply: t.exposeString('reply', {
      nullable: true,
      description: 'The last reply of the receiving server; of a mail that could not be composed, why not.',
    }),
    reason: t.string({
      nullable: true,
      description: 'Why it is in this state, as of a campaign’s deliveries.',
      resolve: ({ reason }) => reason && deliveryReasonText(reason),
    }),
    tags: t.stringList({ resolve: ({ tags }) => [...tags] }),
    isContentKept: t.exposeBoolean('isContentKept', {
      description:
        'Whether it can be sent again. Content is erased seven days after the mail was accepted, or when it was sent, if that is later.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Tries that reached a server.' }),
    ambiguousCount: t.exposeInt('ambiguousCount', {
      description: 'Tries with an unknown outcome: so many further copies may have arrived.',
    }),
    openCount: t.exposeInt('openCount', { description: 'Zero unless opens are tracked.' }),
    clickCount: t.exposeInt('clickCount', { description: 'Zero unless clicks are tracked.' }),
    lastOpenAt: t.expose('lastOpenAt', { type: 'DateTime', nullable: true }),
    lastClickAt: t.expose('lastClickAt', { type: 'DateTime', nullable: true }),
    bounceType: t.exposeString('bounceType', { nullable: true, description: '`hard` or `soft`: the last bounce.' }),
    bouncedAt: t.expose('bouncedAt', { type: 'DateTime', nullable: true }),
    complainedAt: t.expose('complainedAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    sendAt: t.expose('sendAt', { type: 'DateTime', nullable: true, description: 'Null: at once.' }),
    notBefore: t.expose('notBefore', {
      type: 'DateTime',
      nullable: true,
      description: 'The next try is not before this time.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

const AcceptedState = closedSet<StateOfAccepted>('AcceptedState', 'What became of one recipient of a call.', {
  accepted: 'It is sent at once.',
  scheduled: 'It waits for its time.',
  suppressed: 'The address gets no mail, for the reason beside it.',
  duplicate: 'The address has a mail with this external id already: the one named.',
});

export const AcceptedMail = builder.objectRef<Accepted>('AcceptedMail').implement({
  authScopes: sending,
  fields: (t) => ({
    email: t.exposeString('email'),
    uid: t.string({
      nullable: true,
      description: 'The mail in the log. Null: there is none, because the address is not on the list.',
      resolve: ({ id }) => (id === null ? null : messageUid(id)),
    }),
    state: t.expose('state', { type: AcceptedState }),
    reason: t.exposeString('reason', {
      nullable: true,
      description:
        'Of `suppressed`: `bounce`, `complaint`, `manual` or `erased`; where a list is needed also the status of the person on it, or `not_on_list`.',
    }),
  }),
});
