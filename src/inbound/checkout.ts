/**
 * The page of an open invoice for the offline way: what is due, how to pay it by transfer, and a button that reports the payment.
 * GET shows it and changes nothing; POST, which the button sends, claims the payment. An administrator then approves or rejects it.
 */
import { CHECKOUT_PATH } from '../domain/billing/checkout-link.ts';
import type { CheckoutInvoice } from '../domain/billing/checkout-read-model.ts';
import { claimByLink, readCheckout, type Checkout, type CheckoutState } from '../domain/billing/checkout.ts';
import { readableMoney } from '../domain/billing/money.ts';
import type { Context } from '../domain/context.ts';
import { ExpectedError, ValidationError } from '../lib/errors.ts';
import { html, type Html } from '../lib/html.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { sendBodyTooLarge, sendUnknownLink } from './notices.ts';
import { sendPage } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import { readForm } from './read-form.ts';
import type { Words } from './words.ts';

/** A note of 1,000 characters, each as up to twelve letters of a form. */
const FORM_BYTES_MAX = 16_384;

type Fault = 'checkout.fault' | 'checkout.fault.note' | 'checkout.fault.claims';

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
async function claim({ ctx, req, token }: LinkRequest): Promise<Fault | 'too large' | undefined> {
  const form = await readForm(req, FORM_BYTES_MAX);
  if (!form) return 'too large';
  try {
    await claimByLink(ctx, token, { note: form.get('note') ?? '' });
    return undefined;
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    if (error instanceof ValidationError) return 'checkout.fault.note';
    return error.code === 'TOO_MANY_CLAIMS' ? 'checkout.fault.claims' : 'checkout.fault';
  }
}

function answer({ ctx, req, res }: LinkRequest, checkout: Checkout, fault: Fault | undefined): void {
  if (checkout.kind === 'unknown') return sendUnknownLink(res);
  const words = wordsOfReader(req);
  if (checkout.kind === 'expired')
    return sendPage(res, 410, {
      words,
      title: words.text('checkout.expired.title'),
      body: html`<p>${words.text('checkout.expired.text')}</p>`,
    });
  const { state, invoice } = checkout;
  const isOpen = state === 'open' || state === 'rejected';
  const isRefused = fault !== undefined && isOpen;
  sendPage(res, isRefused ? 422 : 200, {
    words,
    title: words.text(`checkout.${state}.title`),
    body: html`${messageOf(words, state, invoice)}
${isRefused ? html`<p class="error" role="alert">${words.text(fault)}</p>` : html``}
${details(words, invoice)}
${isOpen ? payment(words, ctx.installation, invoice.uid) : html``}`,
  });
}

function messageOf(words: Words, state: CheckoutState, { payment: latest, paidAt }: CheckoutInvoice): Html {
  const sentences: string[] = [];
  if (state === 'paid' && paidAt) sentences.push(words.text('checkout.paid.date', { date: words.date(paidAt) }));
  if (state !== 'open') sentences.push(words.text(`checkout.${state}.text`));
  if (state === 'rejected' && latest?.reason)
    sentences.push(words.text('checkout.rejected.reason', { reason: latest.reason }));
  return sentences.length > 0 ? html`<p role="status">${sentences.join(' ')}</p>` : html``;
}

function details(words: Words, invoice: CheckoutInvoice): Html {
  const { currencyCode, dueAt } = invoice;
  const amount = (minor: bigint) => html`<bdi>${readableMoney({ minor, currencyCode })}</bdi>`;
  const names = { number: invoice.uid, customer: invoice.customerName, plan: invoice.planName };
  const isDue = dueAt && invoice.status === 'pending';
  return html`<p>${words.text('checkout.invoice', names)}${
    isDue ? html` ${words.text('checkout.due', { date: words.date(dueAt) })}` : html``
  }</p>
<table>
<thead><tr><th scope="col">${words.text('checkout.item')}</th><th scope="col">${words.text('checkout.amount')}</th></tr></thead>
<tbody>
${invoice.lines.map(
  (line) => html`<tr><td><bdi>${line.description}</bdi></td><td>${amount(BigInt(line.amountMinor))}</td></tr>
`,
)}</tbody>
<tfoot><tr><th scope="row">${words.text('checkout.total')}</th><td><strong>${amount(invoice.totalMinor)}</strong></td></tr></tfoot>
</table>`;
}

/** How to pay, in the operator's words, and the form. */
function payment(words: Words, { paymentInstructions = '' }: Context['installation'], uid: string): Html {
  const given = paymentInstructions.split(/\r?\n/).filter((line) => line.trim() !== '');
  const lines = given.length > 0 ? given : [words.text('checkout.ask')];
  return html`<h2>${words.text('checkout.how')}</h2>
<p dir="auto">${lines.map((line, at) => (at === 0 ? html`${line}` : html`<br>${line}`))}</p>
<p>${words.text('checkout.name', { number: uid })}</p>
<form method="post">
<label for="note">${words.text('checkout.note')}</label>
<textarea id="note" name="note" rows="2" maxlength="1000" dir="auto"></textarea>
<button type="submit">${words.text('checkout.button')}</button>
</form>`;
}
