/** Setting up payment gateways: administrators only. */
import { createGatewayInput, updateGatewayInput } from '../../domain/billing/gateways/payment-gateway.ts';
import {
  createGateway,
  deleteGateway,
  testStoredGateway,
  updateGateway,
} from '../../domain/billing/gateways/save-gateway.ts';
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

const DeletedPaymentGateway = builder.objectRef<{ uid: string }>('DeletedPaymentGateway').implement({
  authScopes: forAdministrators,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deletePaymentGateway', (t) =>
  t.field({
    type: DeletedPaymentGateway,
    description:
      'Refused while its vendor may still say something about a payment, and for the only one of type `offline`: make those inactive. Payment methods that customers have saved with it are deleted.',
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
