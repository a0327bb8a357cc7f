/** Deleted lists and campaigns whose people and messages are still being erased. */
import type { DeletionUnderWay } from '../../domain/accounts/deletion-store.ts';
import { deletionsUnderWay } from '../../domain/accounts/deletions-under-way.ts';
import { builder } from '../builder.ts';
import { ErasableKind } from '../enums.ts';

const READ = { scope: 'lists:read' } as const;

const Deletion = builder.objectRef<DeletionUnderWay>('Deletion').implement({
  description:
    'A deleted list or campaign whose people or ledger are still being erased. It is here until that is done.',
  authScopes: READ,
  fields: (t) => ({
    kind: t.expose('kind', { type: ErasableKind, description: '`list` or `campaign`.' }),
    uid: t.exposeString('uid', { description: 'The uid that it had.' }),
    name: t.exposeString('name'),
    total: t.expose('total', { type: 'Int', description: 'People of the list or recipients of the campaign.' }),
    erased: t.expose('erased', { type: 'Int', description: 'How many of them are erased.' }),
    requestedAt: t.expose('requestedAt', { type: 'DateTime' }),
  }),
});

builder.queryField('deletions', (t) =>
  t.field({
    type: [Deletion],
    description: 'Deleted lists and campaigns that are still being erased, the oldest first.',
    authScopes: READ,
    resolve: (_root, _args, ctx) => deletionsUnderWay(ctx),
  }),
);
