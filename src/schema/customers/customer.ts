/** More of a customer: its first user, its language, the period of its plan. */
import { storedContact, type CustomerContact as CustomerContactRow } from '../../domain/accounts/customer.ts';
import { countryOf } from '../../domain/audience/countries.ts';
import { pictureAddress } from '../../domain/files/choose-picture.ts';
import { Customer, OWN_USER, User } from '../accounts/user.ts';
import { builder } from '../builder.ts';
import { Country } from '../lists/list-contact.ts';

const CustomerContact = builder.objectRef<CustomerContactRow>('CustomerContact').implement({
  description: 'Company and address of a customer; what was not given is empty.',
  authScopes: { authenticated: true },
  fields: (t) => {
    const text = (name: string) => t.string({ resolve: (contact) => String(contact[name] ?? '') });
    return {
      company: text('company'),
      address1: text('address1'),
      address2: text('address2'),
      city: text('city'),
      state: text('state'),
      zip: text('zip'),
      phone: text('phone'),
      email: text('email'),
      url: text('url'),
      countryId: t.int({ nullable: true, resolve: ({ countryId }) => numberOf(countryId) }),
      country: t.field({
        type: Country,
        nullable: true,
        resolve: ({ countryId }) => countryOf(numberOf(countryId) ?? 0) ?? null,
      }),
    };
  },
});

function numberOf(value: string | number | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

builder.prismaObjectFields(Customer, (t) => ({
  id: t.expose('id', { type: 'BigInt', grantScopes: [OWN_USER] }),
  languageId: t.exposeInt('languageId', { nullable: true, description: 'See `languages`.' }),
  image: t.string({
    nullable: true,
    description: 'The public address of its picture.',
    select: { image: true },
    resolve: ({ image }, _args, ctx) => image && pictureAddress(ctx.installation.baseUrl, image),
  }),
  contact: t.field({
    type: CustomerContact,
    nullable: true,
    description: 'Company and address; null: none was given.',
    select: { contact: true },
    resolve: ({ contact }) => storedContact(contact),
  }),
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
