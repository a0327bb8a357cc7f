/** What the rows of subscriptions answer (specification 2.9; decisions D34 to D36). */
import { z } from 'zod';
import { checkoutUrlShape } from '../invoices/shapes.ts';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

const row = {
  id: z.int(),
  uid: uidShape,
  customer_id: z.string(),
  customer_uid: uidShape,
  plan_id: z.string(),
  plan_uid: uidShape,
  plan_name: z.string(),
  status: z.enum(['pending', 'active', 'cancelled', 'ended']),
  current_period_ends_at: timeShape.nullable(),
  ends_at: timeShape.nullable(),
  created_at: timeShape,
  updated_at: timeShape,
};

export const subscriptionRowShape = z.strictObject(row).meta({ id: 'SubscriptionRow' });

const whole = {
  ...row,
  options: z
    .record(z.string(), z.unknown())
    .meta({ description: 'Options of the subscription, which override those of the plan.' }),
  disable_billing: z.boolean(),
  frequency_amount: z.string().nullable().meta({ description: 'Period of the subscription; null: that of the plan.' }),
  frequency_unit: z.string().nullable(),
  current_period_started_at: timeShape.nullable(),
  grace_ends_at: timeShape.nullable().meta({ description: 'Until when the renewal may be paid; null: none is due.' }),
  pending_invoice_uid: uidShape.nullable(),
};

const subscriptionShape = z.strictObject(whole).meta({ id: 'Subscription' });

export const oneSubscriptionShape = z.strictObject({
  subscription: z
    .strictObject({
      ...whole,
      renewal_history: z
        .array(
          z.strictObject({
            event: z.string(),
            at: timeShape,
            plan_uid: uidShape,
            amount: z.string().nullable(),
            currency_code: z.string().nullable(),
            invoice_uid: uidShape.nullable(),
            note: z.string().nullable(),
          }),
        )
        .meta({ description: 'The newest hundred events, sorted from the oldest to the newest.' }),
    })
    .meta({ id: 'SubscriptionWithHistory' }),
});

const due = {
  invoice_uid: uidShape.nullable().meta({ description: 'The invoice to pay first; null: none.' }),
  amount_due: z.string().nullable(),
  currency_code: z.string().nullable(),
  checkout_url: checkoutUrlShape,
};

export const subscriptionActionShape = actionShape({ subscription_uid: uidShape, subscription: subscriptionShape });
export const subscriptionCreatedShape = actionShape({
  subscription_uid: uidShape,
  subscription: subscriptionShape,
  ...due,
});

const ofCustomer = { customer_uid: uidShape, subscription_uid: uidShape, subscription: subscriptionShape };
export const customerSubscriptionShape = actionShape(ofCustomer);
export const planAssignedShape = actionShape({ ...ofCustomer, plan_uid: uidShape });
export const planChangedShape = actionShape({ ...ofCustomer, plan_uid: uidShape, ...due });
