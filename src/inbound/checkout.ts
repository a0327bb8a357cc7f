/**
 * The page of an open invoice for the offline way: what is due, how to pay it by transfer, and a button that reports the payment.
 * GET shows it and changes nothing; POST, which the button sends, claims the payment. An administrator then approves or rejects it.
 */
import { CHECKOUT_PATH } from '../domain/billing/checkout-link.ts';
import type { CheckoutInvoice } from '../domain/billing/checkout-read-model.ts';
import { claimByLink, readCheckout, type Checkout, type CheckoutState } from '../domain/billing/checkout.ts';
import { readableMoney } from '../domain/billing/money.ts';
import type { Context } from '../domain/context.ts';
import { ExpectedError } from '../lib/errors.ts';
import { html, type Html } from '../lib/html.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { sendBodyTooLarge, sendUnknownLink } from './notices.ts';
import { sendPage } from './page.ts';
import { readForm } from './read-form.ts';

/** A note of 1,000 characters, each as up to twelve letters of a form. */
const FORM_BYTES_MAX = 16_384;

/** `/checkout/offline/<token>`. */
export function checkoutMount(ctx: Context): InboundMount {
  return linkMount(ctx, {
    prefix: CHECKOUT_PATH,
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const fault = request.method === 'POST' ? await claim(request) : undefined;
      if (fault === 'too large') return sendBodyTooLarge(request.res);
      answer(request, await readCheckout(request.ctx, request.token), fault);
    },
  });
}

/** Reports the payment. Returns why that was refused; a link that does not work is told by the page that follows. */
async function claim({ ctx, req, token }: LinkRequest): Promise<string | undefined> {
  const form = await readForm(req, FORM_BYTES_MAX);
  if (!form) return 'too large';
  try {
    await claimByLink(ctx, token, { note: form.get('note') ?? '' });
    return undefined;
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return error.message;
  }
}

function answer({ ctx, res }: LinkRequest, checkout: Checkout, fault: string | undefined): void {
  if (checkout.kind === 'unknown') return sendUnknownLink(res);
  if (checkout.kind === 'expired')
    return sendPage(res, 410, {
      title: 'This link has expired',
      body: html`<p>It worked for two weeks. Log in, or ask the person who sent it for a new one.</p>`,
    });
  const { state, invoice } = checkout;
  const isRefused = fault !== undefined && (state === 'open' || state === 'rejected');
  sendPage(res, isRefused ? 422 : 200, {
    title: TITLES[state],
    body: html`${messageOf(state, invoice)}
${isRefused ? html`<p class="error" role="alert">${fault}</p>` : html``}
${details(invoice)}
${state === 'open' || state === 'rejected' ? payment(ctx.installation, invoice.uid) : html``}`,
  });
}

const TITLES: Readonly<Record<CheckoutState, string>> = {
  open: 'Pay this invoice',
  rejected: 'Your payment was not found',
  claimed: 'Thank you: your payment is being checked',
  paid: 'This invoice is paid',
  withdrawn: 'This invoice was withdrawn',
  disabled: 'This account is disabled',
};

function messageOf(state: CheckoutState, { payment: latest, paidAt }: CheckoutInvoice): Html {
  switch (state) {
    case 'open':
      return html``;
    case 'rejected':
      return html`<p role="status">The payment that was reported could not be found.${reasonOf(latest?.reason)} Please check it, then
report it again.</p>`;
    case 'claimed':
      return html`<p role="status">The payment was reported. The invoice is paid as soon as it is found in the bank account. You can
close this page.</p>`;
    case 'paid':
      return html`<p role="status">Paid${paidAt ? html` on ${dateOf(paidAt)}` : html``}. There is nothing left to do.</p>`;
    case 'withdrawn':
      return html`<p role="status">It is no longer due. Please do not pay it.</p>`;
    case 'disabled':
      return html`<p role="status">Please do not pay this invoice before you have asked the operator.</p>`;
  }
}

function reasonOf(reason: string | null | undefined): Html {
  return reason ? html` The operator says: ${reason}` : html``;
}

function details(invoice: CheckoutInvoice): Html {
  const { currencyCode, dueAt } = invoice;
  const amount = (minor: bigint) => readableMoney({ minor, currencyCode });
  return html`<p>Invoice ${invoice.uid} for ${invoice.customerName}, plan ${invoice.planName}${
    dueAt && invoice.status === 'pending' ? html`, due on ${dateOf(dueAt)}` : html``
  }.</p>
<table>
<thead><tr><th scope="col">Item</th><th scope="col">Amount</th></tr></thead>
<tbody>
${invoice.lines.map(
  (line) => html`<tr><td>${line.description}</td><td>${amount(BigInt(line.amountMinor))}</td></tr>
`,
)}</tbody>
<tfoot><tr><th scope="row">Total</th><td><strong>${amount(invoice.totalMinor)}</strong></td></tr></tfoot>
</table>`;
}

/** How to pay, in the operator's words, and the form. */
function payment({ paymentInstructions = '' }: Context['installation'], uid: string): Html {
  const lines = paymentInstructions.split(/\r?\n/).filter((line) => line.trim() !== '');
  const words = lines.length > 0 ? lines : ['Please ask the operator of this service for the bank account.'];
  return html`<h2>How to pay</h2>
<p>${words.map((line, at) => (at === 0 ? html`${line}` : html`<br>${line}`))}</p>
<p>Please name the invoice: ${uid}</p>
<form method="post">
<label for="note">Note (optional)</label>
<textarea id="note" name="note" rows="2" maxlength="1000"></textarea>
<button type="submit">I have paid</button>
</form>`;
}

function dateOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
