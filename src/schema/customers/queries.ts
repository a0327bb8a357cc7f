/** Reading customers: for administrators. Those that are being deleted are not there. */
import { queryFromInfo } from '@pothos/plugin-prisma';
import { customerWithEmail, knownCustomer } from '../../domain/accounts/known-customer.ts';
import { ValidationError } from '../../lib/errors.ts';
import { Customer } from '../accounts/user.ts';
import { builder } from '../builder.ts';
import { pageArgs, pageWindow } from '../page.ts';
import { CustomerPage } from './customer.ts';

const ADMIN = { admin: true } as const;
/** Of a name or an address; a longer one finds nobody. */
const KEYWORD_LENGTH_MAX = 254;
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
    description: 'The customer one of whose users has this address.',
    authScopes: ADMIN,
    args: { email: t.arg.string({ required: true }) },
    resolve: async (query, _root, { email }, ctx) => {
      const { id } = await customerWithEmail(ctx, email);
      return ctx.prisma.customer.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

builder.queryField('customers', (t) =>
  t.prismaConnection(
    {
      type: Customer,
      cursor: 'id',
      description: 'All customers, the oldest first.',
      authScopes: ADMIN,
      args: { keyword: t.arg.string({ description: KEYWORD }) },
      resolve: (query, _root, { keyword }, ctx) =>
        ctx.prisma.customer.findMany({ ...query, where: withKeyword(keyword), orderBy: { id: 'asc' } }),
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
    args: { ...pageArgs(), keyword: t.arg.string({ description: KEYWORD }) },
    resolve: async (_root, args, ctx, info) => {
      const { page, perPage, offset } = pageWindow(args);
      const where = withKeyword(args.keyword);
      const query: object = queryFromInfo({ context: ctx, info, path: ['nodes'] });
      // Tenants are counted in thousands, not millions: a count reads an index of that size.
      const [nodes, total] = await Promise.all([
        ctx.prisma.customer.findMany({
          ...query,
          // Joined, the users of everybody before the page would be read as well.
          relationLoadStrategy: 'query',
          where,
          orderBy: { id: 'asc' },
          skip: offset,
          take: perPage,
        }),
        ctx.prisma.customer.count({ where }),
      ]);
      return { nodes, total, page, perPage };
    },
  }),
);

function withKeyword(keyword: string | null | undefined) {
  const word = keyword?.trim();
  const present = { status: { not: 'deleting' } };
  if (!word) return present;
  if (word.length > KEYWORD_LENGTH_MAX)
    throw new ValidationError({ keyword: [`The keyword may not be greater than ${KEYWORD_LENGTH_MAX} characters.`] });
  const contains = { contains: escaped(word), mode: 'insensitive' } as const;
  return { ...present, OR: [{ name: contains }, { users: { some: { email: contains } } }] };
}

/** Prisma takes `%` and `_` for patterns. */
function escaped(word: string): string {
  return word.replace(/[\\%_]/g, String.raw`\$&`);
}
