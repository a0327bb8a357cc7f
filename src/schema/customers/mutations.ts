/** Changing customers: for administrators. */
import { RECENT_LOGIN } from '../../domain/accounts/require-recent-login.ts';
import { limitInput } from '../../domain/billing/plans/plan-options.ts';
import { changedCustomerInput, newCustomerInput } from '../../domain/accounts/customer.ts';
import { newPasswordInput } from '../../domain/accounts/new-password.ts';
import { createCustomer, type CreatedCustomer } from '../../domain/accounts/create-customer.ts';
import { deleteCustomer } from '../../domain/accounts/delete-customer.ts';
import { setAdministrator } from '../../domain/accounts/set-administrator.ts';
import { disableCustomer, enableCustomer } from '../../domain/accounts/set-customer-status.ts';
import { changeCustomer } from '../../domain/billing/subscriptions/change-customer.ts';
import { chooseCustomerPicture, pictureInput } from '../../domain/files/choose-picture.ts';
import { Customer, PICTURE_INPUT, User } from '../accounts/user.ts';
import { contactChanges } from '../../domain/audience/customer-contact.ts';
import { builder } from '../builder.ts';
import { ListContactInput } from '../lists/list-contact.ts';
import type { GraphqlContext } from '../context.ts';

const ADMIN = { admin: true } as const;

const CreatedCustomerType = builder.objectRef<CreatedCustomer>('CreatedCustomer').implement({
  authScopes: ADMIN,
  fields: (t) => ({
    apiToken: t.exposeString('apiToken', {
      description: "The primary API token of the customer's user, shown this once.",
    }),
    customer: t.prismaField({
      type: Customer,
      resolve: (query, { customerId: id }, _args, ctx) =>
        ctx.prisma.customer.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
});

builder.mutationField('createCustomer', (t) =>
  t.fieldWithInput({
    type: CreatedCustomerType,
    description: 'Makes a tenant with its first user and that user’s primary API token.',
    authScopes: ADMIN,
    typeOptions: { checks: { ...newCustomerInput.shape, password: newPasswordInput } },
    input: {
      email: t.input.string({ required: true }),
      password: t.input.string({ required: true }),
      firstName: t.input.string(),
      lastName: t.input.string(),
      timezone: t.input.string({ description: 'A name of the IANA database; UTC without one.' }),
      languageId: t.input.int(),
    },
    resolve: (_root, { input }, ctx) => createCustomer(ctx, input),
  }),
);

builder.mutationField('updateCustomer', (t) =>
  t.prismaFieldWithInput({
    type: Customer,
    description:
      'Changes what is given of a customer and its first user. A new password ends every login of the user at once.',
    authScopes: ADMIN,
    typeOptions: { checks: { ...changedCustomerInput.shape, password: newPasswordInput } },
    input: {
      uid: t.input.string({ required: true }),
      email: t.input.string(),
      password: t.input.string(),
      firstName: t.input.string(),
      lastName: t.input.string(),
      timezone: t.input.string(),
      languageId: t.input.int(),
      image: t.input.string({ description: PICTURE_INPUT, check: pictureInput }),
      contact: t.input.field({
        type: ListContactInput,
        description: 'What changes of its company and address; all of it is optional. null: none of it.',
      }),
      quota: t.input.int({
        description:
          'Sets `sending_quota` of the present subscription: messages in a window of the plan’s length. -1: unlimited; null: as the plan says.',
        check: limitInput,
      }),
      options: t.input.field({
        type: 'JsonObject',
        description: 'Options of the present subscription by name; null: the plan’s value counts again.',
      }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const image = () => chooseCustomerPicture(ctx, input.uid, input.image);
      const contact = async () => contactChanges(input.contact);
      return reread(query, await changeCustomer(ctx, { ...input, image, contact }), ctx);
    },
  }),
);

builder.mutationField('enableCustomer', (t) =>
  t.prismaField({
    type: Customer,
    description: 'Lets a disabled customer in again. Its campaigns stay paused until somebody resumes them.',
    authScopes: ADMIN,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => reread(query, await enableCustomer(ctx, { uid }), ctx),
  }),
);

builder.mutationField('disableCustomer', (t) =>
  t.prismaField({
    type: Customer,
    description:
      'Shuts a customer out: logins end, tokens are refused, campaigns are paused, subscriptions that vendors keep for it are cancelled there. Its data and the links in its mails stay.',
    authScopes: ADMIN,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => reread(query, await disableCustomer(ctx, { uid }), ctx),
  }),
);

const DeletedCustomer = builder.objectRef<{ id: bigint; uid: string }>('DeletedCustomer').implement({
  authScopes: ADMIN,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteCustomer', (t) =>
  t.field({
    type: DeletedCustomer,
    description: 'Deletes a customer for good: it is gone at once, and everything it owned is erased soon after.',
    authScopes: ADMIN,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteCustomer(ctx, { uid }),
  }),
);

builder.mutationField('setAdministrator', (t) =>
  t.prismaFieldWithInput({
    type: User,
    description: `Makes a user an administrator, or takes this right from another one. Ends every login of the user. ${RECENT_LOGIN}`,
    authScopes: ADMIN,
    input: { userUid: t.input.string({ required: true }), isAdmin: t.input.boolean({ required: true }) },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, userId: id } = await setAdministrator(ctx, input);
      return ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

function reread(query: object, { id }: { id: bigint }, ctx: GraphqlContext) {
  return ctx.prisma.customer.findUniqueOrThrow({ ...query, where: { id } });
}
