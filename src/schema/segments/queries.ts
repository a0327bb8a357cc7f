/** Reading segments, and the people they pick. What tells of people needs the right to read people. */
import { resolveCursorConnection, type ResolveCursorConnectionArgs } from '@pothos/plugin-relay';
import { ownList } from '../../domain/audience/own-list.ts';
import { checkedRule } from '../../domain/audience/segments/check-rule.ts';
import { ownSegment } from '../../domain/audience/segments/own-segment.ts';
import {
  countPeople,
  peopleByKey,
  peoplePage,
  type RuleOfList,
  type SegmentSize as Size,
} from '../../domain/audience/segments/segment-people.ts';
import type { Subscriber as SubscriberRow } from '../../domain/audience/subscriber.ts';
import { viewerOf } from '../../domain/context.ts';
import { ValidationError } from '../../lib/errors.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { FIRST_DEFAULT, FIRST_MAX } from '../limits.ts';
import { definePage, pageArgs, pageWindow, type PageWindow } from '../page.ts';
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
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await ownSegment(ctx, uid);
      return ctx.prisma.segment.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('segments', (t) =>
  t.prismaConnection(
    {
      type: Segment,
      cursor: 'customerId_id',
      description: 'The segments of one list, or of all, the oldest first.',
      authScopes: reading,
      args: { listUid: t.arg.string() },
      resolve: async (query, _root, { listUid }, ctx) =>
        ctx.prisma.segment.findMany({ ...query, where: await whereOf(ctx, listUid), orderBy: { id: 'asc' } }),
    },
    { name: 'SegmentConnection' },
    { name: 'SegmentEdge' },
  ),
);

interface PageOfList extends PageWindow {
  readonly where: { readonly customerId: bigint; readonly listId?: bigint };
}

const SegmentPage = builder.objectRef<PageOfList>('SegmentPage').implement({
  authScopes: reading,
  fields: (t) => ({
    nodes: t.prismaField({
      type: [Segment],
      resolve: (query, { where, offset, perPage }, _args, ctx) =>
        ctx.prisma.segment.findMany({ ...query, where, orderBy: { id: 'asc' }, skip: offset, take: perPage }),
    }),
    total: t.int({ resolve: ({ where }, _args, ctx) => ctx.prisma.segment.count({ where }) }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('segmentsPage', (t) =>
  t.field({
    type: SegmentPage,
    description: 'The segments of one list, or of all, by numbered pages, the oldest first.',
    authScopes: reading,
    errors: {},
    args: { listUid: t.arg.string(), ...pageArgs() },
    resolve: async (_root, { listUid, ...args }, ctx) => ({
      ...pageWindow(args),
      where: await whereOf(ctx, listUid),
    }),
  }),
);

async function whereOf(ctx: GraphqlContext, listUid: string | null | undefined) {
  const { customerId } = viewerOf(ctx);
  return listUid ? { customerId, listId: (await ownList(ctx, listUid)).id } : { customerId };
}

const SegmentSize = builder.objectRef<Size>('SegmentSize').implement({
  description: 'How many people a rule picks, counted for this answer.',
  authScopes: readingPeople,
  fields: (t) => ({
    count: t.exposeInt('count'),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The moment that relative days were counted from.' }),
  }),
});

const LIVE = 'Counted now, in one statement; stopped after 20 seconds.';

builder.queryField('segmentSize', (t) =>
  t.field({
    type: SegmentSize,
    description: `How many people a segment has. ${LIVE}`,
    authScopes: readingPeople,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (_root, { uid }, ctx) => countPeople(ctx, await ownSegment(ctx, uid)),
  }),
);

const previewed = builder.objectRef<RuleOfList>('SegmentPreview');
const SegmentPreview = previewed.implement({
  description: 'What a rule would pick if it were saved.',
  authScopes: readingPeople,
  fields: (t) => ({
    size: t.field({ type: SegmentSize, description: LIVE, resolve: (rule, _args, ctx) => countPeople(ctx, rule) }),
    subscribers: t.connection(
      {
        type: Subscriber,
        description: 'The people it picks, the oldest first.',
        resolve: (rule, args, ctx) => connection(ctx, rule, args),
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
    errors: {},
    args: { listUid: t.arg.string({ required: true }), rule: t.arg({ type: SegmentRuleInput, required: true }) },
    resolve: async (_root, { listUid, rule }, ctx) => {
      const list = await ownList(ctx, listUid);
      return { customerId: list.customerId, listId: list.id, rule: await checkedRule(ctx, list, rule) };
    },
  }),
);

// Not a field of the segment: for a page of segments it would be as many walks.
builder.queryField('segmentSubscribers', (t) =>
  t.connection(
    {
      type: Subscriber,
      description: 'The people a segment picks, the oldest first.',
      authScopes: readingPeople,
      args: { uid: t.arg.string({ required: true }) },
      resolve: async (_root, { uid, ...args }, ctx) => connection(ctx, await ownSegment(ctx, uid), args),
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
    errors: {},
    args: { uid: t.arg.string({ required: true }), ...pageArgs() },
    resolve: async (_root, { uid, ...args }, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const found = await peoplePage(ctx, await ownSegment(ctx, uid), { offset, limit: perPage });
      return { ...found, page, perPage };
    },
  }),
);

type KeyArgs = Parameters<typeof resolveCursorConnection>[0]['args'];

function connection(ctx: GraphqlContext, rule: RuleOfList, args: KeyArgs) {
  return resolveCursorConnection(
    {
      args,
      defaultSize: FIRST_DEFAULT,
      maxSize: FIRST_MAX,
      toCursor: ({ id }: SubscriberRow) => String(id),
    },
    async ({ before, after, limit, inverted }: ResolveCursorConnectionArgs) =>
      peopleByKey(ctx, rule, { after: idOf(after), before: idOf(before), limit, backward: inverted }),
  );
}

function idOf(cursor: string | undefined): bigint | undefined {
  if (cursor === undefined) return undefined;
  if (!/^\d{1,18}$/.test(cursor)) throw new ValidationError({ after: ['This is no cursor of this connection.'] });
  return BigInt(cursor);
}
