/** More of a customer: its first user, its language, the period of its plan. */
import { Customer, OWN_USER, User } from '../accounts/user.ts';
import { builder } from '../builder.ts';

builder.prismaObjectFields(Customer, (t) => ({
  id: t.expose('id', { type: 'BigInt', grantScopes: [OWN_USER] }),
  languageId: t.exposeInt('languageId', { nullable: true }),
  image: t.exposeString('image', { nullable: true }),
  isOperator: t.exposeBoolean('isOperator', { description: "The installation's own customer, whom no plan limits." }),
  updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  owner: t.field({
    type: User,
    nullable: true,
    description: 'The customer’s first user.',
    grantScopes: [OWN_USER],
    select: (_args, _ctx, nestedSelection) => ({
      users: nestedSelection({ orderBy: { id: 'asc' }, take: 1 }),
    }),
    resolve: ({ users }) => users[0] ?? null,
  }),
  currentPeriodEndsAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'When the running period of its plan ends.',
    select: {
      subscriptions: {
        where: { status: { in: ['active', 'cancelled'] } },
        orderBy: { id: 'desc' },
        take: 1,
      },
    },
    resolve: ({ subscriptions }) => subscriptions[0]?.currentPeriodEndsAt ?? null,
  }),
}));
