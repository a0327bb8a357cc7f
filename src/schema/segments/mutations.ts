/** Changing segments. */
import { createSegment, createSegmentInput } from '../../domain/audience/segments/create-segment.ts';
import { deleteSegment } from '../../domain/audience/segments/delete-segment.ts';
import { updateSegment, updateSegmentInput } from '../../domain/audience/segments/update-segment.ts';
import { viewerOf } from '../../domain/context.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { SegmentRuleInput } from './rule-input.ts';
import { Segment } from './segment.ts';

const writing = { scope: 'lists:write' } as const;

builder.mutationField('createSegment', (t) =>
  t.prismaFieldWithInput({
    type: Segment,
    description: 'Saves a rule that picks some of a list’s people.',
    authScopes: writing,
    typeOptions: { checks: createSegmentInput.shape },
    input: {
      listUid: t.input.string({ required: true }),
      name: t.input.string({ required: true }),
      rule: t.input.field({ type: SegmentRuleInput, required: true }),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await createSegment(ctx, input)),
  }),
);

builder.mutationField('updateSegment', (t) =>
  t.prismaFieldWithInput({
    type: Segment,
    description:
      'Changes the values that are given. Campaigns that were started keep the rule that they were started with.',
    authScopes: writing,
    typeOptions: { checks: updateSegmentInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      rule: t.input.field({ type: SegmentRuleInput }),
    },
    resolve: async (query, _root, { input: { uid, ...changes } }, ctx) =>
      readBack(ctx, query, await updateSegment(ctx, uid, changes)),
  }),
);

const DeletedSegment = builder.objectRef<{ uid: string }>('DeletedSegment').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteSegment', (t) =>
  t.field({
    type: DeletedSegment,
    description: 'Refused while a campaign that is not done uses it.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteSegment(ctx, uid),
  }),
);

type Query = Pick<Prisma.SegmentFindUniqueOrThrowArgs, 'include' | 'select'>;

/** What was written, as the database has it now. */
function readBack<Asked extends Query>(ctx: GraphqlContext, query: Asked, { uid }: { uid: string }) {
  const { customerId } = viewerOf(ctx);
  return ctx.prisma.segment.findUniqueOrThrow({ ...query, where: { customerId_uid: { customerId, uid } } });
}
