/** The published versions of an automation. They never change. */
import { countVersions, versionsPage, type VersionHead } from '../../domain/automations/automation-read-model.ts';
import { findOwnedAutomation } from '../../domain/automations/find-owned-automation.ts';
import { readVersion } from '../../domain/automations/runs/version-read-model.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import { forwardConnection } from '../key-connection.ts';

const reading = { scope: 'automations:read' } as const;

const AutomationVersion = builder.objectRef<VersionHead>('AutomationVersion').implement({
  description:
    'A published version of an automation. Its flow never changes; who is in it finishes on it, or is moved to a later one.',
  authScopes: reading,
  fields: (t) => ({
    number: t.exposeInt('number'),
    publishedAt: t.expose('publishedAt', { type: 'DateTime' }),
    publishedBy: t.string({
      nullable: true,
      description: 'The uid of the user; null: a plugin.',
      resolve: ({ publishedBy }) => publishedBy || null,
    }),
    moves: t.field({
      type: 'JsonObject',
      nullable: true,
      description: 'Where people of earlier versions go, by the ids of their nodes. Null: they finish on theirs.',
      resolve: ({ moves }) => moves,
    }),
    movedAt: t.expose('movedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When all of them had been moved. Null: they are being moved, or nobody is.',
    }),
    flow: t.field({
      type: 'JsonObject',
      nullable: true,
      description: 'As it was published, with what follows from it written out. Null: it was deleted meanwhile.',
      resolve: async ({ customerId, automationId, number, bytes }, _args, ctx) => {
        await takeContent(ctx, bytes);
        return (await readVersion(ctx.db, { customerId, automationId, version: number }))?.flow ?? null;
      },
    }),
  }),
});

builder.queryField('automationVersions', (t) =>
  t.connection(
    {
      type: AutomationVersion,
      description: 'The published versions of an automation, the newest first. Forward only.',
      authScopes: reading,
      args: { uid: t.arg.string({ required: true, description: 'The uid of the automation.' }) },
      resolve: async (_root, { uid, ...args }, ctx) => {
        const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
        const key = { customerId, automationId };
        return forwardConnection(args, {
          find: ({ after, limit }) =>
            versionsPage(ctx.db, key, { before: after === undefined ? null : numberOf(after), limit }),
          count: () => countVersions(ctx.db, key),
          idOf: ({ number }) => BigInt(number),
        });
      },
    },
    { name: 'AutomationVersionConnection' },
    { name: 'AutomationVersionEdge' },
  ),
);

const INT_MAX = 2_147_483_647;

/** A cursor that no version has names the end of the numbers. */
function numberOf(cursor: bigint): number {
  return cursor > BigInt(INT_MAX) ? INT_MAX : Number(cursor);
}
