/** How REST shows invoices and payments. */
import type { RestInvoiceFragment, RestInvoiceRowFragment, RestPaymentFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentInvoiceRow(invoice: RestInvoiceRowFragment) {
  return {
    uid: invoice.uid,
    kind: invoice.kind,
    status: invoice.status,
    total: invoice.total.amount,
    currency_code: invoice.total.currencyCode,
    customer_uid: invoice.customerUid,
    subscription_uid: invoice.subscriptionUid,
    plan_uid: invoice.plan.uid,
    checkout_url: invoice.checkoutUrl,
    period_starts_at: restTime(invoice.periodStartsAt),
    due_at: restTime(invoice.dueAt),
    next_charge_at: restTime(invoice.nextChargeAt),
    created_at: restTime(invoice.createdAt),
    paid_at: restTime(invoice.paidAt),
  };
}

export function presentInvoice(invoice: RestInvoiceFragment) {
  return {
    ...presentInvoiceRow(invoice),
    lines: invoice.lines.map(({ kind, description, amount }) => ({ kind, description, amount: amount.amount })),
    payments: invoice.payments.map(presentTry),
    payment_instructions: invoice.paymentInstructions,
    payment_gateways: invoice.paymentGateways.map(({ uid, type, name }) => ({ uid, type, name })),
  };
}

export function presentPayment(payment: RestPaymentFragment) {
  return {
    ...presentTry(payment),
    invoice_uid: payment.invoice.uid,
    customer_uid: payment.invoice.customerUid,
  };
}

function presentTry(payment: Omit<RestPaymentFragment, 'invoice' | '__typename'>) {
  return {
    uid: payment.uid,
    method: payment.method,
    status: payment.status,
    amount: payment.amount.amount,
    currency_code: payment.amount.currencyCode,
    note: payment.note,
    reason: payment.reason,
    reference: payment.reference,
    refunded: payment.refunded.amount,
    is_automatic: payment.isAutomatic,
    charged_at: restTime(payment.chargedAt),
    late_paid_at: restTime(payment.latePaidAt),
    synced_at: restTime(payment.syncedAt),
    sync_error: payment.syncError,
    created_at: restTime(payment.createdAt),
    decided_at: restTime(payment.decidedAt),
  };
}
