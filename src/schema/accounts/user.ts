/** Users and customers, as they are seen by themselves. */
import { pictureAddress } from '../../domain/files/choose-picture.ts';
import { builder } from '../builder.ts';
import { AccountStatus } from '../enums.ts';

/** Granted by a field that returns the caller's own user although the request has no token yet (login). */
export const OWN_USER = 'own-user';
const findOwnUser = { $any: { authenticated: true, $granted: OWN_USER } } as const;

export const Customer = builder.prismaObject('Customer', {
  authScopes: findOwnUser,
  // Scopes granted by a field are known to fields only.
  runScopesOnType: false,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    status: t.expose('status', { type: AccountStatus }),
    timezone: t.exposeString('timezone'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

/** For descriptions of the input. */
export const PICTURE_INPUT = 'Null or an empty text removes the present one.';

export const User = builder.prismaObject('User', {
  authScopes: findOwnUser,
  // Scopes granted by a field are known to fields only.
  runScopesOnType: false,
  fields: (t) => ({
    id: t.expose('id', { type: 'BigInt' }),
    uid: t.exposeString('uid'),
    email: t.exposeString('email'),
    firstName: t.exposeString('firstName'),
    lastName: t.exposeString('lastName'),
    timezone: t.exposeString('timezone'),
    image: t.string({
      nullable: true,
      description: 'The public address of the user’s picture.',
      select: { image: true },
      resolve: ({ image }, _args, ctx) => image && pictureAddress(ctx.installation.baseUrl, image),
    }),
    status: t.expose('status', { type: AccountStatus }),
    isAdmin: t.exposeBoolean('isAdmin'),
    hasTwoFactor: t.boolean({
      description: 'Whether logging in asks for a code.',
      select: { twoFactor: { select: { confirmedAt: true } } },
      resolve: ({ twoFactor }) => twoFactor !== null && twoFactor.confirmedAt !== null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    customer: t.relation('customer', { grantScopes: [OWN_USER] }),
  }),
});
