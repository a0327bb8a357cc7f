/** Reading an automation. */
import { draftBytes, draftsOf, triggersOf } from '../../domain/automations/automation-read-model.ts';
import { viewerOf } from '../../domain/context.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { ActiveStatus } from '../enums.ts';
import { loadBy } from '../loaders/load-by.ts';

const KEY = { id: true } as const;

type Row = { readonly id: bigint };

function keyOf(ctx: GraphqlContext, rows: readonly Row[]) {
  return { customerId: viewerOf(ctx).customerId, ids: rows.map(({ id }) => id) };
}

const readTriggers = (ctx: GraphqlContext, rows: readonly Row[]) => triggersOf(ctx.db, keyOf(ctx, rows));

/** Throws what `takeContent` throws: a thousand flows would not fit in memory. */
const readDrafts = async (ctx: GraphqlContext, rows: readonly Row[]) => {
  const key = keyOf(ctx, rows);
  await takeContent(ctx, await draftBytes(ctx.db, key));
  return draftsOf(ctx.db, key);
};

export const Automation = builder.prismaObject('Automation', {
  authScopes: { scope: 'automations:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    status: t.expose('status', {
      type: ActiveStatus,
      description: '`inactive`: nobody enters, and who is in it stays where they are.',
    }),
    listUid: t.string({ select: { list: { select: { uid: true } } }, resolve: ({ list }) => list.uid }),
    triggers: t.stringList({
      description: 'The types of its triggers: of the version that people enter, else of the draft.',
      select: KEY,
      resolve: (row, _args, ctx) => loadBy(ctx, readTriggers).load(row),
    }),
    flow: t.field({
      type: 'JsonObject',
      description: 'The draft: the flow that is being edited. It has no effect before it is published.',
      select: KEY,
      resolve: (row, _args, ctx) => loadBy(ctx, readDrafts).load(row),
    }),
    draftVersion: t.exposeInt('draftVersion', {
      description: 'Grows with each change of the draft: whoever changes or publishes it names the one that was read.',
    }),
    liveVersion: t.exposeInt('liveVersion', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});
