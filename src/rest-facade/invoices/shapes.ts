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
    })
    .meta({ id: 'Invoice' }),
});

export const paymentActionShape = actionShape({ payment_uid: uidShape, invoice_uid: uidShape, payment: paymentShape });
