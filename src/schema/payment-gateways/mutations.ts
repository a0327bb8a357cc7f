/** Setting up payment gateways: administrators only. */
import { createGatewayInput, updateGatewayInput } from '../../domain/billing/gateways/payment-gateway.ts';
import { deleteGateway, type DeletedGateway } from '../../domain/billing/gateways/delete-gateway.ts';
import { createGateway, testStoredGateway, updateGateway } from '../../domain/billing/gateways/save-gateway.ts';
import type { ConnectionTest } from '../../plugin-api/index.ts';
import { builder } from '../builder.ts';
import { ActiveStatus } from '../enums.ts';
import { forAdministrators, PaymentGateway } from './payment-gateway.ts';

builder.mutationField('createPaymentGateway', (t) =>
  t.prismaFieldWithInput({
    type: PaymentGateway,
    description:
      'Checks the settings, tries them at the vendor, and stores the gateway when both succeed. Errors of settings are named `settings.<key>`, a failed test `connection`.',
    authScopes: forAdministrators,
    typeOptions: { checks: createGatewayInput.shape },
    input: {
      name: t.input.string({ required: true }),
      type: t.input.string({ required: true, description: 'One of `paymentGatewayTypes`.' }),
      settings: t.input.field({ type: 'JsonObject', required: true }),
      status: t.input.field({ type: ActiveStatus }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { id } = await createGateway(ctx, input);
      return ctx.prisma.paymentGateway.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

builder.mutationField('updatePaymentGateway', (t) =>
  t.prismaFieldWithInput({
    type: PaymentGateway,
    description:
      'Changes the values that are given. Other settings keep their values; changed settings are tried first.',
    authScopes: forAdministrators,
    typeOptions: { checks: updateGatewayInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      settings: t.input.field({ type: 'JsonObject', description: 'Null removes one.' }),
      status: t.input.field({ type: ActiveStatus }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { id } = await updateGateway(ctx, input);
      return ctx.prisma.paymentGateway.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

const DeletedPaymentGateway = builder.objectRef<DeletedGateway>('DeletedPaymentGateway').implement({
  authScopes: forAdministrators,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    isDeleted: t.exposeBoolean('isDeleted', {
      description:
        'False: its vendor still has payments or saved methods of it. They are closed there first; until then it is inactive for good, and `fault` says what is left.',
    }),
  }),
});

builder.mutationField('deletePaymentGateway', (t) =>
  t.field({
    type: DeletedPaymentGateway,
    description:
      'Open payments are cancelled, and payment methods that customers have saved with it are deleted, at the vendor and here. A vendor that does not answer holds this up for half a day at most; the log says what was left there then. Refused while money may be moving or its vendor keeps subscriptions, and for the only one of type `offline`: make those inactive.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteGateway(ctx, { uid }),
  }),
);

const PaymentGatewayTest = builder.objectRef<ConnectionTest>('PaymentGatewayTest').implement({
  description: 'What the vendor of a payment gateway answered to a test.',
  authScopes: forAdministrators,
  fields: (t) => ({
    isAccepted: t.boolean({ description: 'Whether the gateway can be used.', resolve: ({ ok }) => ok }),
    reason: t.string({
      nullable: true,
      description: 'Why it cannot be used; null: it can.',
      resolve: (test) => (test.ok ? null : test.message),
    }),
  }),
});

builder.mutationField('testPaymentGateway', (t) =>
  t.field({
    type: PaymentGatewayTest,
    description: 'Calls the vendor with the stored credentials. A failed test is an answer, not an error.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => testStoredGateway(ctx, { uid }),
  }),
);
