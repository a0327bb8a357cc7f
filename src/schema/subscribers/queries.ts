/** Reading subscribers: one, all with an address, by numbered pages and by key. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { emailAddress } from '../../lib/text.ts';
import { findSubscriber, subscribersByAddress } from '../../domain/audience/find-subscriber.ts';
import { findOwnedList, findOwnedListHead } from '../../domain/audience/find-owned-list.ts';
import { peopleIn } from '../../domain/audience/list-counter-store.ts';
import {
  countSubscribers,
  subscriberPage,
  subscribersByKey,
  subscribersOfListsByKey,
  type SubscriberFilter,
  type SubscriberPosition,
} from '../../domain/audience/subscriber-page-read-model.ts';
import type { Subscriber as SubscriberRow } from '../../domain/audience/subscriber.ts';
import { conditionChecks } from '../../domain/audience/segments/conditions.ts';
import { VERIFICATION_WORDS } from '../../domain/audience/segments/segment.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { VerificationState } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';
import { keyConnection, type ConnectionArgs, type KeyWindow } from '../key-connection.ts';
import { MailList, readListCounters } from '../lists/mail-list.ts';
import { loadBy } from '../loaders/load-by.ts';
import { definePage, pageArgs, pageWindow } from '../page.ts';
import { Subscriber } from './subscriber.ts';

builder.queryField('subscriber', (t) =>
  t.field({
    type: Subscriber,
    description: 'One subscriber, by uid, id or address; an address on several lists needs the list.',
    authScopes: { scope: 'subscribers:read' },
    args: { subscriber: t.arg.string({ required: true, check: subscriberRefInput }), listUid: t.arg.string() },
    resolve: (_root, ref, ctx) => findSubscriber(ctx, ref),
  }),
);

builder.queryField('subscribersByEmail', (t) =>
  t.field({
    type: [Subscriber],
    description: 'Everybody with this address, one per list; or the one on the list named.',
    authScopes: { scope: 'subscribers:read' },
    args: { email: t.arg.string({ required: true, check: emailAddress() }), listUid: t.arg.string() },
    resolve: async (_root, { email, listUid }, ctx) =>
      subscribersByAddress(ctx, email, listUid ? await findOwnedList(ctx, listUid) : undefined),
  }),
);

const SubscriberPage = definePage('SubscriberPage', Subscriber, 'subscribers:read');

const activityArgs = () =>
  builder.args((t) => ({
    opened: t.boolean({ description: 'Only those who ever opened a mail of the list, or never did.' }),
    clicked: t.boolean({ description: 'Only those who ever clicked, or never did.' }),
    verification: t.field({
      type: [VerificationState],
      description: 'Only those of whom a verifier has said one of these.',
      check: conditionChecks.rule.verification,
    }),
  }));

builder.queryField('subscribersPage', (t) =>
  t.field({
    type: SubscriberPage,
    description: 'Subscribers of one list, or of all, by numbered pages, the oldest first.',
    authScopes: { scope: 'subscribers:read' },
    args: { listUid: t.arg.string(), ...activityArgs(), ...pageArgs() },
    resolve: async (_root, args, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const window = { offset, limit: perPage };
      const head = args.listUid
        ? await findOwnedListHead(ctx, args.listUid, { ...window, ...activityOf(args) })
        : undefined;
      const filter = filterOf(ctx, head?.list, args);
      const total = await countSubscribers(ctx, filter, head);
      const people = head?.people ?? (await subscriberPage(ctx, filter, { ...window, total }));
      const nodes = head ? people.map((person) => ({ ...person, fieldTags: head.fieldTags })) : people;
      return { nodes, total, page, perPage };
    },
  }),
);

builder.queryField('subscribers', (t) =>
  t.connection(
    {
      type: Subscriber,
      description: 'Subscribers of all lists, list by list, the oldest first.',
      authScopes: { scope: 'subscribers:read' },
      args: activityArgs(),
      resolve: (_root, args, ctx) => connection(ctx, filterOf(ctx, undefined, args), args),
    },
    { name: 'SubscriberConnection' },
    { name: 'SubscriberEdge' },
  ),
);

builder.prismaObjectField(MailList, 'subscribers', (t) =>
  t.connection(
    {
      type: Subscriber,
      description: 'The people on the list, the oldest first.',
      authScopes: { scope: 'subscribers:read' },
      args: activityArgs(),
      resolve: (list, args, ctx) => connectionOfList(ctx, list.id, args),
    },
    { name: 'MailListSubscribersConnection' },
    { name: 'MailListSubscribersEdge' },
  ),
);

interface Activity {
  readonly opened?: boolean | null | undefined;
  readonly clicked?: boolean | null | undefined;
  readonly verification?: readonly string[] | null | undefined;
}

function filterOf(
  ctx: GraphqlContext,
  list: { readonly id: bigint } | undefined,
  activity: Activity,
): SubscriberFilter {
  return { customerId: viewerOf(ctx).customerId, list, ...activityOf(activity) };
}

function activityOf({ opened, clicked, verification }: Activity) {
  // In one order: documents with the same words share a prepared statement.
  const words = VERIFICATION_WORDS.filter((word) => verification?.includes(word));
  return { opened: opened ?? undefined, clicked: clicked ?? undefined, verification: verification ? words : undefined };
}

function connection(ctx: GraphqlContext, filter: SubscriberFilter, args: ConnectionArgs) {
  return keyConnection(args, {
    keyOf: positionOf,
    find: (window) => subscribersByKey(ctx, filter, window),
    count: () => countSubscribers(ctx, filter),
    cursorOf,
  });
}

/** The same of one list, read for all lists of a document at once. */
function connectionOfList(ctx: GraphqlContext, listId: bigint, args: ConnectionArgs & Activity) {
  const activity = activityOf(args);
  return keyConnection(args, {
    keyOf: positionOf,
    find: (window) => loadBy(ctx, readPages).load({ listId, activity, window }),
    count: async () => {
      const counters = await loadBy(ctx, readListCounters).load(listId);
      return countSubscribers(ctx, filterOf(ctx, { id: listId }, args), peopleIn(counters));
    },
    cursorOf,
  });
}

interface PageOfList {
  readonly listId: bigint;
  readonly activity: ReturnType<typeof activityOf>;
  readonly window: KeyWindow<SubscriberPosition>;
}

/** Those with the same arguments in one statement: a field of a list has the same ones for every list of its page. */
async function readPages(ctx: GraphqlContext, pages: readonly PageOfList[]) {
  const { customerId } = viewerOf(ctx);
  const together = Map.groupBy(pages, ({ activity, window }) =>
    JSON.stringify([activity, window], (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  );
  const found = new Map<PageOfList, readonly SubscriberRow[]>();
  for (const group of together.values()) {
    const [first] = group;
    if (!first) continue;
    const { activity, window } = first;
    const listIds = group.map(({ listId }) => listId);
    const people = await subscribersOfListsByKey(ctx, { customerId, listIds, ...activity }, window);
    for (const [at, page] of group.entries()) found.set(page, people[at] ?? []);
  }
  return pages.map((page) => found.get(page) ?? []);
}

function cursorOf({ listId, id }: SubscriberRow): string {
  return `${listId}.${id}`;
}

function positionOf(cursor: string): SubscriberPosition | undefined {
  const [, listId, id] = /^(\d{1,18})\.(\d{1,18})$/.exec(cursor) ?? [];
  return listId === undefined || id === undefined ? undefined : { listId: BigInt(listId), id: BigInt(id) };
}
