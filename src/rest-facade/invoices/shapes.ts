/** What the rows of invoices and payments answer. */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

export const checkoutUrlShape = z.string().nullable().meta({
  description:
    'A page for a browser, without a token: the invoice, how to pay it, a button to report the payment. The signed address expires after 14 days; each answer has a fresh one. Null: nothing to pay.',
});

const row = {
  uid: uidShape,
  kind: z.enum(['start', 'renewal', 'change']),
  status: z.enum(['pending', 'paid', 'void']),
  total: z.string(),
  currency_code: z.string().length(3),
  customer_uid: uidShape,
  subscription_uid: uidShape,
  plan_uid: uidShape,
  checkout_url: checkoutUrlShape,
  period_starts_at: timeShape.nullable(),
  due_at: timeShape.nullable(),
  next_charge_at: timeShape
    .nullable()
    .meta({ description: 'When a saved payment method is charged again after it was declined; null: never.' }),
  created_at: timeShape,
  paid_at: timeShape.nullable(),
};

export const invoiceRowShape = z.strictObject(row).meta({ id: 'InvoiceRow' });

const payment = {
  uid: uidShape,
  method: z.string(),
  status: z.enum(['PENDING', 'REQUIRES_ACTION', 'AWAITING_ADMIN_APPROVAL', 'SUCCEEDED', 'FAILED', 'CANCELLED']),
  amount: z.string(),
  currency_code: z.string().length(3),
  note: z.string(),
  reason: z.string().nullable(),
  reference: z.string().nullable().meta({ description: 'The vendor’s id of it; null: nothing was begun there.' }),
  refunded: z.string().meta({ description: 'What was paid back at the vendor.' }),
  is_automatic: z.boolean().meta({ description: 'A saved payment method is charged for it, without the customer.' }),
  charged_at: timeShape
    .nullable()
    .meta({ description: 'Since when its saved method may have been charged, or its bank debit is under way.' }),
  late_paid_at: timeShape.nullable().meta({
    description:
      'It was paid at the vendor after it had failed or was cancelled here: the money paid the invoice if that was open, else it became credit.',
  }),
  synced_at: timeShape.nullable().meta({ description: 'When the vendor was asked the last time.' }),
  sync_error: z.string().nullable().meta({ description: 'Why the vendor’s state could not be read, or does not fit.' }),
  created_at: timeShape,
  decided_at: timeShape.nullable(),
};

export const paymentShape = z
  .strictObject({ ...payment, invoice_uid: uidShape, customer_uid: uidShape })
  .meta({ id: 'Payment' });

export const oneInvoiceShape = z.strictObject({
  invoice: z
    .strictObject({
      ...row,
      lines: z.array(
        z.strictObject({
          kind: z.enum(['plan', 'unused', 'credit_used', 'credit_kept']),
          description: z.string(),
          amount: z.string().meta({ description: 'Negative when it is given back.' }),
        }),
      ),
      payments: z.array(z.strictObject(payment)),
      payment_instructions: z.string().nullable(),
      payment_gateways: z
        .array(z.strictObject({ uid: uidShape, type: z.string(), name: z.string() }))
        .meta({ description: 'Through which it can be paid now.' }),
    })
    .meta({ id: 'Invoice' }),
});

export const startedPaymentShape = actionShape({
  payment_uid: uidShape
    .nullable()
    .meta({ description: 'Null for `offline`: there is a payment when it was reported.' }),
  invoice_uid: uidShape,
  url: z.string().meta({ description: 'Where the browser goes to pay.' }),
});

export const paymentActionShape = actionShape({ payment_uid: uidShape, invoice_uid: uidShape, payment: paymentShape });
