/** Invoices and paying them by transfer: extensions of the contract, reached through every `checkout_url`. */
import type { RestPaymentFragment } from '../../generated/operations.ts';
import { created, done, ok, page, type Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import { neededName } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentInvoice, presentInvoiceRow, presentPayment } from './present.ts';
import { invoiceRowShape, oneInvoiceShape, paymentActionShape, paymentShape, startedPaymentShape } from './shapes.ts';

export const invoiceRows = [
  endpoint({
    method: 'GET',
    path: '/invoices',
    access: 'token',
    summary: 'Lists the invoices of the customer, the oldest first; administrators name a customer by `customer_uid`.',
    answers: answersPage(invoiceRowShape),
    operation: 'Invoices',
    variables: (input) => ({ ...pageArguments(input), customerUid: input.text('customer_uid') }),
    present: ({ invoicesPage }) => page(invoicesPage, presentInvoiceRow),
  }),
  endpoint({
    method: 'GET',
    path: '/invoices/:uid',
    access: 'token',
    summary: 'Shows one invoice with its lines, its payments, and how to pay it.',
    answers: answersBody(oneInvoiceShape),
    operation: 'Invoice',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ invoice }) => ok({ invoice: presentInvoice(invoice) }),
  }),
  endpoint({
    method: 'POST',
    path: '/invoices/:uid/claim',
    access: 'token',
    summary:
      'Reports that the invoice was paid by transfer; an administrator checks and approves it. Repeating it changes nothing.',
    answers: answersCreated(paymentActionShape),
    operation: 'ClaimPayment',
    variables: (input) => ({ input: { invoiceUid: input.param('uid'), note: input.text('note') } }),
    present: ({ claimPayment }) => created('Payment waits for approval', paymentBody(claimPayment)),
  }),
  endpoint({
    method: 'POST',
    path: '/invoices/:uid/checkout',
    actsOutside: true,
    access: 'token',
    summary: 'Begins to pay the invoice through one of its `payment_gateways`, and says where the browser goes.',
    details:
      'A try through the same gateway that is open is continued, one through another gateway is cancelled. Nobody is charged before the payer has confirmed it there.',
    answers: answersCreated(startedPaymentShape),
    required: ['gateway_uid'],
    operation: 'StartPayment',
    variables: (input) => ({
      input: { invoiceUid: input.param('uid'), gatewayUid: neededName(input, 'gateway_uid') },
    }),
    present: ({ startPayment: { url, payment } }, _view, input) =>
      created('Payment was begun', { payment_uid: payment?.uid ?? null, invoice_uid: input.param('uid'), url }),
  }),
  endpoint({
    method: 'POST',
    path: '/invoices/:uid/refresh',
    actsOutside: true,
    access: 'token',
    summary: 'Reads at the vendors whether the invoice was paid. The same happens every minute by itself.',
    answers: answersBody(oneInvoiceShape),
    operation: 'RefreshInvoice',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ refreshInvoice }) => ok({ invoice: presentInvoice(refreshInvoice) }),
  }),
  endpoint({
    method: 'POST',
    path: '/invoices/:uid/pay',
    access: 'admin',
    summary: 'Records money that arrived: the invoice is paid, and the subscription starts, renews or changes.',
    answers: answersBody(paymentActionShape),
    operation: 'RecordPayment',
    variables: (input) => ({ input: { invoiceUid: input.param('uid'), note: input.text('note') } }),
    present: ({ recordPayment }) => acted('Invoice was paid', recordPayment),
  }),
  endpoint({
    method: 'GET',
    path: '/payments',
    access: 'admin',
    summary: 'Lists the payments of all customers that wait for approval, or those with another `payment_status`.',
    answers: answersPage(paymentShape),
    operation: 'Payments',
    variables: (input) => ({ ...pageArguments(input), status: input.text('payment_status') || undefined }),
    fieldName: (path) => (path === 'status' ? 'payment_status' : undefined),
    present: ({ paymentsPage }) => page(paymentsPage, presentPayment),
  }),
  endpoint({
    method: 'POST',
    path: '/payments/:uid/approve',
    access: 'admin',
    summary:
      'Approves a payment: the invoice is paid, and the subscription starts, renews or changes. Repeating it changes nothing.',
    answers: answersBody(paymentActionShape),
    operation: 'ApprovePayment',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ approvePayment }) => acted('Payment was approved', approvePayment),
  }),
  endpoint({
    method: 'POST',
    path: '/payments/:uid/reject',
    access: 'admin',
    summary: 'Rejects a payment; the customer may claim it again. Repeating it changes nothing.',
    answers: answersBody(paymentActionShape),
    operation: 'RejectPayment',
    variables: (input) => ({ uid: input.param('uid'), reason: input.text('reason') }),
    present: ({ rejectPayment }) => acted('Payment was rejected', rejectPayment),
  }),
];

function acted(message: string, payment: RestPaymentFragment): Answer {
  return done(message, paymentBody(payment));
}

function paymentBody(payment: RestPaymentFragment) {
  return { payment_uid: payment.uid, invoice_uid: payment.invoice.uid, payment: presentPayment(payment) };
}
