/** Finding automations, and checking their drafts. */
import { z } from 'zod';
import { findOwnedList } from '../../domain/audience/find-owned-list.ts';
import { AUTOMATION_NAME_MAX } from '../../domain/automations/automation.ts';
import { checkAutomation } from '../../domain/automations/flow/check-automation.ts';
import { findOwnedAutomation } from '../../domain/automations/find-owned-automation.ts';
import type { FlowFault as Fault } from '../../domain/automations/flow/flow-fault.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { optionalLine, parseInput } from '../../lib/text.ts';
import { builder } from '../builder.ts';
import { containing } from '../contains.ts';
import type { GraphqlContext } from '../context.ts';
import { ActiveStatus } from '../enums.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { createdArgs, createdBetween, sortedPages, type CreatedFilter } from '../sorted-pages.ts';
import { Automation } from './automation.ts';
import { FlowFault } from './flow-fault.ts';

const reading = { scope: 'automations:read' } as const;

builder.queryField('automation', (t) =>
  t.prismaField({
    type: Automation,
    description: 'One automation.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedAutomation(ctx, uid);
      return ctx.prisma.automation.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

type Where = Prisma.AutomationWhereInput;

const index = nounIndex('Automation', Automation, {
  access: reading,
  count: (ctx, where: Where) => ctx.prisma.automation.count({ where }),
  find: (ctx, query) => ctx.prisma.automation.findMany(query),
});

const searchInput = z.object({ q: optionalLine(AUTOMATION_NAME_MAX).nullish() });

function filterArgs() {
  return builder.args((t) => ({
    q: t.string({ description: 'Only those with this text in their name, in any case.', check: searchInput.shape.q }),
    status: t.field({ type: ActiveStatus }),
    listUid: t.string({ description: 'Only those of this list.' }),
    ...createdArgs(),
  }));
}

interface Filter extends CreatedFilter {
  readonly q?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly listUid?: string | null | undefined;
}

/** Throws ValidationError on `q`, `LIST_NOT_FOUND`. */
async function matching(ctx: GraphqlContext, { q, status, listUid, createdFrom, createdTo }: Filter): Promise<Where> {
  const text = parseInput(searchInput, { q }).q ?? '';
  return {
    ...ownRows(ctx),
    ...(text === '' ? {} : { name: containing(text) }),
    ...(status ? { status } : {}),
    ...(listUid ? { listId: (await findOwnedList(ctx, listUid)).id } : {}),
    ...createdBetween({ createdFrom, createdTo }),
  };
}

builder.queryField('automations', (t) =>
  t.connection(
    {
      type: Automation,
      description: 'The automations, the newest first.',
      authScopes: reading,
      args: filterArgs(),
      resolve: async (_root, { q, status, listUid, createdFrom, createdTo, ...args }, ctx, info) => {
        const where = await matching(ctx, { q, status, listUid, createdFrom, createdTo });
        return index.byKey(ctx, info, args, { where, order: 'desc' });
      },
    },
    { name: 'AutomationConnection' },
    { name: 'AutomationEdge' },
  ),
);

const pages = sortedPages('Automation', Automation, {
  access: reading,
  rows: 'automations',
  count: (ctx, where: Where) => ctx.prisma.automation.count({ where }),
  find: (ctx, query) => ctx.prisma.automation.findMany(query),
});

builder.queryField('automationsPage', (t) =>
  t.field({
    type: pages.Page,
    description: 'The automations by numbered pages.',
    authScopes: reading,
    args: { ...filterArgs(), ...pages.args() },
    resolve: async (_root, { sort, direction, page, perPage, ...filter }, ctx) =>
      pages.pageOf({ sort, direction, page, perPage }, await matching(ctx, filter)),
  }),
);

interface Check {
  readonly draftVersion: number;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

const AutomationCheck = builder.objectRef<Check>('AutomationCheck').implement({
  description: 'What stands against publishing a draft. Without faults it can be published.',
  authScopes: reading,
  fields: (t) => ({
    draftVersion: t.exposeInt('draftVersion', { description: 'The version of the draft that was checked.' }),
    faults: t.field({ type: [FlowFault], resolve: ({ faults }) => [...faults] }),
    warnings: t.field({
      type: [FlowFault],
      description: 'What may be meant so; it can be published.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

builder.queryField('automationCheck', (t) =>
  t.field({
    type: AutomationCheck,
    description: 'Checks the draft of an automation as publishing does, and changes nothing.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => checkAutomation(ctx, uid),
  }),
);
