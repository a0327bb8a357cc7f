/** What logging in by a token and signing in by a session have in common: the input, and the fields about its user. */
import type { ObjectRef } from '@pothos/core';
import type { LoggedIn } from '../../domain/accounts/log-in.ts';
import { builder } from '../builder.ts';
import { OWN_USER, User } from './user.ts';

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

/** Spread it into the input of the mutation. */
export const credentialsInput = (input: InputFields) => ({
  email: input.string({ required: true }),
  password: input.string({ required: true }),
  code: input.string({ description: 'A code of the authenticator app, or a recovery code.' }),
  deviceToken: input.string({ description: 'The `deviceToken` of an earlier login on this device.' }),
});

/** Adds the device's token and the user. */
export function provedUserFields<Shape extends LoggedIn>(
  type: ObjectRef<typeof builder.$inferSchemaTypes, Shape>,
): void {
  builder.objectFields(type, (t) => ({
    deviceToken: t.string({
      description:
        'The device keeps it and sends it with its next login. Then failed logins of strangers do not lock this device out.',
      resolve: ({ deviceToken }) => deviceToken,
    }),
    user: t.prismaField({
      type: User,
      // The caller has proved the password and may see this user, although the request has no token yet.
      grantScopes: [OWN_USER],
      resolve: (query, { customerId, userId }, _args, ctx) =>
        ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id: userId } } }),
    }),
  }));
}
