/** People on lists. The rows come from the audience's read model; related data through loaders. */
import { consentHistories, type ConsentEvent as ConsentEventRow } from '../../domain/audience/consent-read-model.ts';
import { deliverabilityOf } from '../../domain/audience/deliverability-read-model.ts';
import { fieldTagsOfLists } from '../../domain/audience/list-field-store.ts';
import {
  verificationsOf,
  type SubscriberVerification as Verified,
} from '../../domain/audience/verification-read-model.ts';
import type { Subscriber as SubscriberRow } from '../../domain/audience/subscriber.ts';
import { viewerOf } from '../../domain/context.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { AddressResult, Deliverability, SubscriberStatus } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';
import { MailList } from '../lists/mail-list.ts';
import { loadBy } from '../loaders/load-by.ts';

const readTags = (ctx: GraphqlContext, listIds: readonly bigint[]) =>
  fieldTagsOfLists(ctx.db, viewerOf(ctx).customerId, listIds);
const readHistories = (ctx: GraphqlContext, people: readonly SubscriberRow[]) =>
  consentHistories(ctx.db, viewerOf(ctx).customerId, people);

const readDeliverability = (ctx: GraphqlContext, addresses: readonly string[]) =>
  deliverabilityOf(ctx.db, viewerOf(ctx).customerId, addresses);

const readVerifications = (ctx: GraphqlContext, people: readonly SubscriberRow[]) =>
  verificationsOf(ctx.db, viewerOf(ctx).customerId, people);

const SubscriberVerification = builder.objectRef<Verified>('SubscriberVerification').implement({
  description: 'What a verification server has said of the address.',
  authScopes: { scope: 'subscribers:read' },
  fields: (t) => ({
    result: t.expose('result', { type: AddressResult }),
    reasons: t.stringList({
      description:
        'Codes such as `syntax`, `no_domain`, `no_mail_server`, `disposable`, `role`, `catch_all`; verifiers have more.',
      resolve: ({ reasons }) => [...reasons],
    }),
    verifiedAt: t.expose('verifiedAt', { type: 'DateTime' }),
    verifiedBy: t.exposeString('verifiedBy', { description: 'The type of the verification server.' }),
  }),
});

const ConsentEvent = builder.objectRef<ConsentEventRow>('ConsentEvent').implement({
  description: 'What a person agreed to or withdrew.',
  fields: (t) => ({
    status: t.expose('status', { type: SubscriberStatus, description: 'The subscriber’s status after it.' }),
    source: t.exposeString('source', {
      description:
        'Where it came from: `api`, `form`, `confirmation`, `link`, `one-click`, `mail`, `vendor`, `undo`, `complaint`, `expiry`, `import:<uid>`.',
    }),
    ipAddress: t.exposeString('ipAddress', { nullable: true }),
    fileName: t.exposeString('fileName', { nullable: true, description: 'Of an import: the name of its file.' }),
    importedBy: t.exposeString('importedBy', {
      nullable: true,
      description: 'Of an import: the address of the user who started it; null when the user is gone.',
    }),
    at: t.expose('at', { type: 'DateTime' }),
  }),
});

export const Subscriber = builder.objectRef<SubscriberRow>('Subscriber').implement({
  description: 'A person on a list. The same address on two lists is two subscribers.',
  authScopes: { scope: 'subscribers:read' },
  fields: (t) => ({
    id: t.expose('id', { type: 'BigInt' }),
    uid: t.string({ resolve: ({ id }) => subscriberUid(id) }),
    email: t.exposeString('email'),
    status: t.expose('status', {
      type: SubscriberStatus,
      description: '`subscribed`, `unsubscribed`, `unconfirmed` or `pending`.',
    }),
    source: t.exposeString('source', {
      nullable: true,
      description: 'How the person was added: `api`, `form`, `import:<uid>`.',
    }),
    ipAddress: t.exposeString('ipAddress', { nullable: true }),
    fieldValues: t.field({
      type: 'JsonObject',
      description: 'The value of every custom field of the list by its tag; null where there is none.',
      // A page of one list includes the tags: no loader is needed.
      resolve: ({ listId, fields, fieldTags }, _args, ctx) =>
        fieldTags
          ? valuesOf(fields, fieldTags)
          : loadBy(ctx, readTags)
              .load(listId)
              .then((tags) => valuesOf(fields, tags)),
    }),
    deliverability: t.field({
      type: Deliverability,
      description: 'Whether mail to the address can arrive, whatever the status says.',
      resolve: ({ email }, _args, ctx) => loadBy(ctx, readDeliverability).load(email),
    }),
    verification: t.field({
      type: SubscriberVerification,
      nullable: true,
      description:
        'Whether mail to the address can arrive, as a verification has found; null: not verified. A new address has none.',
      resolve: (person, _args, ctx) => loadBy(ctx, readVerifications).load(person),
    }),
    tags: t.stringList({ resolve: ({ tags }) => [...tags] }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    pendingUntil: t.expose('pendingUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When the confirmation link stops working.',
    }),
    list: t.prismaField({
      type: MailList,
      // Prisma combines the look-ups of one tick into one statement.
      resolve: (query, { customerId, listId }, _args, ctx) =>
        ctx.prisma.mailList.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id: listId } } }),
    }),
    consentEvents: t.field({
      type: [ConsentEvent],
      description: 'The newest hundred, in order.',
      extensions: { listLength: 50 },
      resolve: (person, _args, ctx) => loadBy(ctx, readHistories).load(person),
    }),
  }),
});

function valuesOf(fields: SubscriberRow['fields'], tags: readonly string[]): Record<string, string | null> {
  const values: Record<string, string | null> = {};
  for (const tag of tags) values[tag] = fields[tag] ?? null;
  return values;
}
