/** What the rows of payment gateways answer. */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

export const gatewayShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    type: z.string(),
    status: z.enum(['active', 'inactive']),
    fault: z.string().nullable().meta({
      description: 'Why nothing can be paid through it: it is being deleted, or no active plugin provides its type.',
    }),
    deleting_at: timeShape.nullable().meta({ description: 'Since when it is being deleted; null: it is not.' }),
    settings: z.record(z.string(), z.unknown()).meta({ description: 'As its plugin names them, without credentials.' }),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'PaymentGateway' });

export const oneGatewayShape = z.strictObject({ payment_gateway: gatewayShape });
export const gatewayActionShape = actionShape({ payment_gateway_uid: uidShape, payment_gateway: gatewayShape });
export const gatewayDeletedShape = actionShape({
  payment_gateway_uid: uidShape,
  is_deleted: z.boolean().meta({
    description: 'False: its vendor still has payments or saved methods of it, which are closed there first.',
  }),
});
export const gatewayTestedShape = actionShape({
  payment_gateway_uid: uidShape,
  test: z.strictObject({
    accepted: z.boolean().meta({ description: 'Whether the gateway can be used.' }),
    reason: z.string().nullable().meta({ description: 'Why it cannot be used; null: it can.' }),
  }),
});

export const gatewayTypesShape = z.array(
  z
    .strictObject({
      type: z.string(),
      name: z.string(),
      description: z.string(),
      icon: z.string(),
      plugin: z.string().nullable().meta({ description: '`vendor/name`; null: Mailwright itself.' }),
      is_remote_subscription: z.boolean().meta({ description: 'The vendor can keep subscriptions itself.' }),
      form_url: z.string().nullable().meta({ description: 'A page of the plugin that helps to set it up.' }),
      config_keys: z.array(z.string()),
      secret_keys: z.array(z.string()).meta({ description: 'Those that are credentials.' }),
      currencies: z.array(z.string()),
    })
    .meta({ id: 'PaymentGatewayType' }),
);
