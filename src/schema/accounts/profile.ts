/** What a user changes of himself. */
import { newPasswordInput } from '../../domain/accounts/new-password.ts';
import { logInInput } from '../../domain/accounts/log-in.ts';
import { changedCustomerInput } from '../../domain/accounts/customer.ts';
import { noSessionCookie } from '../../domain/accounts/session-cookie.ts';
import { logOut } from '../../domain/accounts/log-out.ts';
import { changePassword, updateProfile } from '../../domain/accounts/update-profile.ts';
import { chooseOwnPicture, pictureInput } from '../../domain/files/choose-picture.ts';
import { builder } from '../builder.ts';
import { PICTURE_INPUT, User } from './user.ts';

const WRITING = { scope: 'account:write' } as const;

builder.mutationField('updateProfile', (t) =>
  t.prismaFieldWithInput({
    type: User,
    description: 'Changes the values that are given, of the token’s user.',
    authScopes: WRITING,
    executionsMax: 1,
    typeOptions: { checks: { ...changedCustomerInput.shape, currentPassword: logInInput.shape.password } },
    input: {
      firstName: t.input.string(),
      lastName: t.input.string(),
      timezone: t.input.string({ description: 'A name of the IANA database.' }),
      email: t.input.string({ description: 'Needs `currentPassword`.' }),
      currentPassword: t.input.string(),
      image: t.input.string({ description: PICTURE_INPUT, check: pictureInput }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const image = () => chooseOwnPicture(ctx, input.image);
      const { customerId, userId: id } = await updateProfile(ctx, { ...input, image });
      return ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('changePassword', (t) =>
  t.prismaFieldWithInput({
    type: User,
    description:
      'Sets a new password. Every other login of the user and every one-time link ends at once; API tokens made by hand stay.',
    authScopes: WRITING,
    executionsMax: 1,
    typeOptions: { checks: { currentPassword: logInInput.shape.password, newPassword: newPasswordInput } },
    input: { currentPassword: t.input.string({ required: true }), newPassword: t.input.string({ required: true }) },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, userId: id } = await changePassword(ctx, input);
      return ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const LoggedOut = builder.objectRef<{ uid: string }>('LoggedOut').implement({
  authScopes: { authenticated: true },
  fields: (t) => ({ uid: t.exposeString('uid', { description: 'The uid of the login that has ended.' }) }),
});

builder.mutationField('logOut', (t) =>
  t.field({
    type: LoggedOut,
    description:
      'Ends the session or the login token that asks, and deletes the cookie of a session. An API token does not log out: revoke it.',
    authScopes: { authenticated: true },
    resolve: async (_root, _args, ctx) => {
      const ended = await logOut(ctx);
      if (ctx.viewer?.tokenKind === 'session') ctx.setCookie?.(noSessionCookie(ctx.installation.baseUrl));
      return ended;
    },
  }),
);
