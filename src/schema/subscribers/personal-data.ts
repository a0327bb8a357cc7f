/** The rights of a person: to get all stored data, and to be erased. */
import { cursorInput, rowsInput } from '../page-inputs.ts';
import { emailAddress } from '../../lib/text.ts';
import { erasePerson, findOwnedErasure } from '../../domain/audience/erasing/erase-person.ts';
import { type Erasure } from '../../domain/audience/erasing/erasure-store.ts';
import {
  personalData,
  personalTables,
  PERSONAL_ROWS_MAX,
  type PersonalData,
  type PersonalRow,
  type PersonalTable,
} from '../../domain/audience/erasing/export-person.ts';
import { builder } from '../builder.ts';
import { ErasureStatus } from '../enums.ts';

const READ = { scope: 'subscribers:read' } as const;

const PersonalRowType = builder.objectRef<PersonalRow>('PersonalRow').implement({
  authScopes: READ,
  fields: (t) => ({
    table: t.exposeString('table'),
    row: t.field({ type: 'JsonObject', description: 'The row as it is stored.', resolve: ({ row }) => row }),
  }),
});

const PersonalDataPage = builder.objectRef<PersonalData>('PersonalDataPage').implement({
  authScopes: READ,
  fields: (t) => ({
    nodes: t.field({ type: [PersonalRowType], resolve: ({ nodes }) => [...nodes] }),
    next: t.exposeString('next', {
      nullable: true,
      description: 'What to give as `after`; null: this was the last page.',
    }),
  }),
});

builder.queryField('personalData', (t) =>
  t.field({
    type: PersonalDataPage,
    description: 'Everything that is stored about the person with this address, table by table.',
    authScopes: READ,
    args: {
      email: t.arg.string({ required: true, check: emailAddress() }),
      after: t.arg.string({ description: '`next` of the page before.', check: cursorInput }),
      first: t.arg.int({ defaultValue: PERSONAL_ROWS_MAX, check: rowsInput(PERSONAL_ROWS_MAX) }),
    },
    resolve: (_root, { email, after, first }, ctx) =>
      personalData(ctx, { email, after, first: first ?? PERSONAL_ROWS_MAX }),
  }),
);

const PersonalTableType = builder.objectRef<PersonalTable>('PersonalTable').implement({
  authScopes: READ,
  fields: (t) => ({ table: t.exposeString('table'), rows: t.exposeInt('rows') }),
});

const PersonalDataSummary = builder.objectRef<{ tables: PersonalTable[] }>('PersonalDataSummary').implement({
  authScopes: READ,
  fields: (t) => ({ tables: t.field({ type: [PersonalTableType], resolve: ({ tables }) => tables }) }),
});

builder.queryField('personalDataSummary', (t) =>
  t.field({
    type: PersonalDataSummary,
    description: 'How many rows each table holds about the person with this address.',
    authScopes: READ,
    args: { email: t.arg.string({ required: true, check: emailAddress() }) },
    resolve: async (_root, { email }, ctx) => ({ tables: await personalTables(ctx, email) }),
  }),
);

const ErasureType = builder.objectRef<Erasure>('Erasure').implement({
  description: 'The erasing of one person. It does not say of whom.',
  authScopes: READ,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    status: t.expose('status', { type: ErasureStatus, description: '`running` or `done`.' }),
    people: t.exposeInt('people', { description: 'The number of lists that the person was on.' }),
    requestedAt: t.expose('requestedAt', { type: 'DateTime' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
  }),
});

builder.queryField('erasure', (t) =>
  t.field({
    type: ErasureType,
    description: 'The progress of erasing a person.',
    authScopes: READ,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => findOwnedErasure(ctx, uid),
  }),
);

builder.mutationField('erasePerson', (t) =>
  t.field({
    type: ErasureType,
    description:
      'Erases the person with this address from all lists, and from everything that mails and clicks have left. ' +
      'It stays known as erased by a keyed digest, and comes back only by signing up itself.',
    authScopes: { scope: 'subscribers:write' },
    args: {
      email: t.arg.string({ required: true, check: emailAddress() }),
      everywhere: t.arg.boolean({ description: 'From the lists of every customer; for administrators.' }),
    },
    resolve: (_root, args, ctx) => erasePerson(ctx, args),
  }),
);
