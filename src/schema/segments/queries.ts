/** Reading segments and their people. Queries that show people need the right to read people. */
import { findOwnedList } from '../../domain/audience/find-owned-list.ts';
import { checkedRule } from '../../domain/audience/segments/check-rule.ts';
import { findOwnedSegment } from '../../domain/audience/segments/find-owned-segment.ts';
import {
  countPeople,
  peopleByKey,
  peoplePage,
  type RuleOfList,
  type SegmentSize as Size,
} from '../../domain/audience/segments/segment-read-model.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { idConnection, type ConnectionArgs } from '../key-connection.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { definePage, pageArgs, pageWindow } from '../page.ts';
import { Subscriber } from '../subscribers/subscriber.ts';
import { SegmentRuleInput } from './rule-input.ts';
import { Segment } from './segment.ts';

const reading = { scope: 'lists:read' } as const;
const readingPeople = { scope: 'subscribers:read' } as const;

builder.queryField('segment', (t) =>
  t.prismaField({
    type: Segment,
    description: 'One segment.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedSegment(ctx, uid);
      return ctx.prisma.segment.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('Segment', Segment, {
  access: reading,
  count: (ctx, where: { readonly customerId: bigint; readonly listId?: bigint }) => ctx.prisma.segment.count({ where }),
  find: (ctx, query) => ctx.prisma.segment.findMany(query),
});
const SegmentPage = index.definePage();

builder.queryField('segments', (t) =>
  t.connection(
    {
      type: Segment,
      description: 'The segments of one list, or of all, the oldest first.',
      authScopes: reading,
      args: { listUid: t.arg.string() },
      resolve: async (_root, { listUid, ...args }, ctx, info) =>
        index.byKey(ctx, info, args, await rowsOf(ctx, listUid)),
    },
    { name: 'SegmentConnection' },
    { name: 'SegmentEdge' },
  ),
);

builder.queryField('segmentsPage', (t) =>
  t.field({
    type: SegmentPage,
    description: 'The segments of one list, or of all, by numbered pages, the oldest first.',
    authScopes: reading,
    args: { listUid: t.arg.string(), ...pageArgs() },
    resolve: async (_root, { listUid, ...args }, ctx) => ({
      ...pageWindow(args),
      ...(await rowsOf(ctx, listUid)),
    }),
  }),
);

async function rowsOf(ctx: GraphqlContext, listUid: string | null | undefined) {
  const list = listUid ? { listId: (await findOwnedList(ctx, listUid)).id } : {};
  return { where: { ...ownRows(ctx), ...list }, order: 'asc' as const };
}

const SegmentSize = builder.objectRef<Size>('SegmentSize').implement({
  description: 'How many people a rule picks, counted for this answer.',
  authScopes: readingPeople,
  fields: (t) => ({
    count: t.exposeInt('count'),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The time from which relative days were counted.' }),
  }),
});

const LIVE = 'Counted now, in one statement; stopped after 20 seconds.';

builder.queryField('segmentSize', (t) =>
  t.field({
    type: SegmentSize,
    description: `How many people a segment has. ${LIVE}`,
    authScopes: readingPeople,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (_root, { uid }, ctx) => countPeople(ctx, await findOwnedSegment(ctx, uid)),
  }),
);

const previewed = builder.objectRef<RuleOfList>('SegmentPreview');
const SegmentPreview = previewed.implement({
  description: 'The people that a rule would pick if it were saved.',
  authScopes: readingPeople,
  fields: (t) => ({
    size: t.field({ type: SegmentSize, description: LIVE, resolve: (rule, _args, ctx) => countPeople(ctx, rule) }),
    subscribers: t.connection(
      {
        type: Subscriber,
        description: 'The people it picks, the oldest first.',
        resolve: (rule, args, ctx) => peopleConnection(ctx, rule, args),
      },
      { name: 'SegmentPreviewSubscribersConnection' },
      { name: 'SegmentPreviewSubscribersEdge' },
    ),
  }),
});

builder.queryField('segmentPreview', (t) =>
  t.field({
    type: SegmentPreview,
    description: 'Tries a rule on a list without saving it.',
    authScopes: readingPeople,
    args: { listUid: t.arg.string({ required: true }), rule: t.arg({ type: SegmentRuleInput, required: true }) },
    resolve: async (_root, { listUid, rule }, ctx) => {
      const list = await findOwnedList(ctx, listUid);
      return { customerId: list.customerId, listId: list.id, rule: await checkedRule(ctx, list, rule) };
    },
  }),
);

// Not a field of the segment: on a page of segments it would run once per segment.
builder.queryField('segmentSubscribers', (t) =>
  t.connection(
    {
      type: Subscriber,
      description: 'The people a segment picks, the oldest first.',
      authScopes: readingPeople,
      args: { uid: t.arg.string({ required: true }) },
      resolve: async (_root, { uid, ...args }, ctx) => peopleConnection(ctx, await findOwnedSegment(ctx, uid), args),
    },
    { name: 'SegmentSubscribersConnection' },
    { name: 'SegmentSubscribersEdge' },
  ),
);

const SegmentSubscriberPage = definePage('SegmentSubscriberPage', Subscriber, 'subscribers:read');

builder.queryField('segmentSubscribersPage', (t) =>
  t.field({
    type: SegmentSubscriberPage,
    description: `The people a segment picks, by numbered pages, the oldest first. ${LIVE}`,
    authScopes: readingPeople,
    args: { uid: t.arg.string({ required: true }), ...pageArgs() },
    resolve: async (_root, { uid, ...args }, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const found = await peoplePage(ctx, await findOwnedSegment(ctx, uid), { offset, limit: perPage });
      return { ...found, page, perPage };
    },
  }),
);

function peopleConnection(ctx: GraphqlContext, rule: RuleOfList, args: ConnectionArgs) {
  return idConnection(args, {
    find: (window) => peopleByKey(ctx, rule, window),
    idOf: ({ id }) => id,
    count: async () => (await countPeople(ctx, rule)).count,
  });
}
