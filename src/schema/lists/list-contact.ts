/** The contact of a list, and the countries that such an address may be in (decision D15). */
import { contactChecks } from '../../domain/audience/list-fields.ts';
import { COUNTRIES, countryOf, type Country as CountryRow } from '../../domain/audience/countries.ts';
import { builder } from '../builder.ts';

export const Country = builder.objectRef<CountryRow>('Country').implement({
  description: 'A country of ISO 3166.',
  // The same for everybody.
  authScopes: { public: true },
  fields: (t) => ({
    id: t.exposeInt('id', { description: 'What `countryId` means.' }),
    code: t.exposeString('code', { description: 'ISO 3166-1 alpha-2.' }),
    name: t.exposeString('name'),
  }),
});

export const ListContact = builder.prismaObject('ListContact', {
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    company: t.exposeString('company'),
    address1: t.exposeString('address1'),
    address2: t.exposeString('address2'),
    city: t.exposeString('city'),
    state: t.exposeString('state'),
    zip: t.exposeString('zip'),
    phone: t.exposeString('phone'),
    email: t.exposeString('email'),
    url: t.exposeString('url'),
    countryId: t.exposeInt('countryId', { nullable: true }),
    country: t.field({
      type: Country,
      nullable: true,
      select: { countryId: true },
      resolve: ({ countryId }) => countryOf(countryId),
    }),
  }),
});

export const ListContactInput = builder.inputType('ListContactInput', {
  checks: contactChecks,
  description: 'A new list needs all of it but `address2` and `url`; a change names what changes.',
  fields: (t) => ({
    company: t.string(),
    address1: t.string(),
    address2: t.string(),
    city: t.string(),
    state: t.string(),
    zip: t.string(),
    phone: t.string(),
    countryId: t.int(),
    countryCode: t.string({ description: 'ISO 3166-1, alpha-2 or alpha-3, in place of `countryId`.' }),
    email: t.string(),
    url: t.string(),
  }),
});

builder.queryField('countries', (t) =>
  t.field({
    type: [Country],
    description: 'All countries, in the order of their numbers.',
    authScopes: { authenticated: true },
    resolve: () => [...COUNTRIES],
  }),
);
