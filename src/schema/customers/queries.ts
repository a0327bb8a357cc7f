/** Reading customers: for administrators. Those that are being deleted are not there. */
import { z } from 'zod';
import { emailAddress, parseInput } from '../../lib/text.ts';
import { customerWithEmail, knownCustomer } from '../../domain/accounts/known-customer.ts';
import { Customer } from '../accounts/user.ts';
import { builder } from '../builder.ts';
import './customer.ts';
import { containing } from '../contains.ts';
import { nounIndex } from '../noun-index.ts';
import { pageArgs, pageWindow } from '../page.ts';

const ADMIN = { admin: true } as const;
/** For a name or an address; a longer keyword finds nobody. */
const KEYWORD_LENGTH_MAX = 254;
const keywordInput = z.string().trim().max(KEYWORD_LENGTH_MAX);
const KEYWORD = 'Only those whose name, or a user’s address, has this in it, in any case.';

builder.queryField('customer', (t) =>
  t.prismaField({
    type: Customer,
    description: 'One customer.',
    authScopes: ADMIN,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { id } = await knownCustomer(ctx, uid);
      return ctx.prisma.customer.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

builder.queryField('customerByEmail', (t) =>
  t.prismaField({
    type: Customer,
    description: 'Shows the customer whose user has this address.',
    authScopes: ADMIN,
    args: { email: t.arg.string({ required: true, check: emailAddress() }) },
    resolve: async (query, _root, { email }, ctx) => {
      const { id } = await customerWithEmail(ctx, email);
      return ctx.prisma.customer.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

const index = nounIndex('Customer', Customer, {
  access: ADMIN,
  // Tenants are counted in thousands: a count reads an index of that size.
  count: (ctx, where: ReturnType<typeof withKeyword>) => ctx.prisma.customer.count({ where }),
  // With a join, the users of all customers before the page would be read as well.
  find: (ctx, query) => ctx.prisma.customer.findMany({ ...query, relationLoadStrategy: 'query' }),
});
const CustomerPage = index.definePage();

builder.queryField('customers', (t) =>
  t.connection(
    {
      type: Customer,
      description: 'All customers, the oldest first.',
      authScopes: ADMIN,
      args: { keyword: t.arg.string({ description: KEYWORD, check: keywordInput }) },
      resolve: (_root, { keyword, ...args }, ctx, info) =>
        index.byKey(ctx, info, args, { where: withKeyword(keyword), order: 'asc' }),
    },
    { name: 'CustomerConnection' },
    { name: 'CustomerEdge' },
  ),
);

builder.queryField('customersPage', (t) =>
  t.field({
    type: CustomerPage,
    description: 'The same by numbered pages.',
    authScopes: ADMIN,
    args: { ...pageArgs(), keyword: t.arg.string({ description: KEYWORD, check: keywordInput }) },
    resolve: (_root, { keyword, ...args }) => ({
      ...pageWindow(args),
      where: withKeyword(keyword),
      order: 'asc' as const,
    }),
  }),
);

function withKeyword(keyword: string | null | undefined) {
  const word = parseInput(z.object({ keyword: keywordInput.nullish() }), { keyword }).keyword;
  const present = { status: { not: 'deleting' } };
  if (!word) return present;
  const contains = containing(word);
  return { ...present, OR: [{ name: contains }, { users: { some: { email: contains } } }] };
}
