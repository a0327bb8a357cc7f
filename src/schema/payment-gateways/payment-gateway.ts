/** Payment gateways as administrators see them, without credentials, which are not read. */
import { deletionOf } from '../../domain/billing/gateways/delete-gateway.ts';
import { missingGatewayType, type GatewayType } from '../../domain/billing/gateways/open-gateway.ts';
import { builder } from '../builder.ts';
import { ActiveStatus } from '../enums.ts';

export const forAdministrators = { admin: true } as const;

export const PaymentGateway = builder.prismaObject('PaymentGateway', {
  authScopes: forAdministrators,
  description: 'A way to pay invoices that an administrator has set up.',
  fields: (t) => ({
    uid: t.exposeString('uid'),
    type: t.exposeString('type', { description: 'One of `paymentGatewayTypes`.' }),
    name: t.exposeString('name'),
    status: t.expose('status', {
      type: ActiveStatus,
      description: '`active` or `inactive`; nobody can begin to pay through an inactive one.',
    }),
    settings: t.expose('settings', {
      type: 'JsonObject',
      description: 'Without credentials: those are never answered.',
    }),
    fault: t.string({
      nullable: true,
      description:
        'Why nothing can be paid through it: it is being deleted, and what its vendor still has; or no active plugin provides its type. Null: there is no such reason.',
      select: { uid: true, type: true, deletingAt: true },
      resolve: async ({ uid, type, deletingAt }, _args, ctx) =>
        deletingAt === null ? missingGatewayType(ctx, type) : deletionOf(ctx, uid),
    }),
    deletingAt: t.expose('deletingAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is being deleted; null: it is not.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

export const PaymentGatewayType = builder.objectRef<GatewayType>('PaymentGatewayType').implement({
  description: 'A kind of payment gateway that can be set up: one that a plugin provides, or `offline`.',
  authScopes: forAdministrators,
  fields: (t) => ({
    type: t.string({ resolve: ({ registration }) => registration.type }),
    name: t.string({ resolve: ({ registration }) => registration.name }),
    description: t.string({ resolve: ({ registration }) => registration.description }),
    icon: t.string({
      description: 'Name of the icon; `payment` unless the plugin says another.',
      resolve: ({ registration }) => registration.icon ?? 'payment',
    }),
    plugin: t.string({
      nullable: true,
      description: 'The plugin that provides it, `vendor/name`; null: Mailwright itself.',
      resolve: ({ plugin }) => plugin,
    }),
    isRemoteSubscription: t.boolean({
      description: 'Whether the vendor can keep subscriptions itself.',
      resolve: ({ registration }) => registration.isRemoteSubscription ?? false,
    }),
    formUrl: t.string({
      nullable: true,
      description: 'A page of the plugin that helps to set it up; null: the form is made from `configKeys`.',
      resolve: ({ plugin, registration: { formView } }) =>
        plugin !== null && formView ? `/plugins/${plugin}/pages/${formView}` : null,
    }),
    configKeys: t.stringList({
      description: 'Keys of its settings, in the order in which a form shows them.',
      resolve: ({ registration }) => [...registration.configKeys],
    }),
    secretKeys: t.stringList({
      description: 'The keys whose values are credentials.',
      resolve: ({ registration }) => [...registration.secretKeys],
    }),
    currencies: t.stringList({
      description: 'ISO 4217 codes that it takes; invoices in others are refused.',
      resolve: ({ registration }) => [...registration.currencies],
    }),
  }),
});
