/**
 * The page of an open invoice: what is due, a button for each payment gateway, how to pay it by transfer, and a button that reports the
 * transfer. GET reads what the vendors say, and shows it. POST, which the buttons send, goes to the checkout of a gateway, or claims the
 * transfer, which an administrator then approves or rejects.
 */
import { CHECKOUT_PATH } from '../domain/billing/invoices/checkout-link.ts';
import type { CheckoutInvoice } from '../domain/billing/invoices/checkout-read-model.ts';
import {
  claimByLink,
  payByLink,
  readCheckout,
  type Checkout,
  type CheckoutState,
  type OfferedGateway,
} from '../domain/billing/invoices/checkout.ts';
import { readableMoney } from '../domain/billing/money.ts';
import type { Context } from '../domain/context.ts';
import { ExpectedError, PluginFailedError, ValidationError } from '../lib/errors.ts';
import { html, type Html } from '../lib/html.ts';
import { takeFlash } from './flash.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { sendBodyTooLarge, sendUnknownLink } from './notices.ts';
import { sendPage, setPublicHeaders } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import { readForm, type Form } from './read-form.ts';
import type { Words } from './words.ts';

/** A note of 1,000 characters, each as up to twelve letters of a form. */
const FORM_BYTES_MAX = 16_384;

type Fault = 'checkout.fault' | 'checkout.fault.note' | 'checkout.fault.claims' | 'checkout.fault.gateway';

/** `/checkout/offline/<token>`. */
export function checkoutMount(ctx: Context): InboundMount {
  return linkMount(ctx, {
    prefix: CHECKOUT_PATH,
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      if (request.method !== 'POST') return answer(request, await readCheckout(request.ctx, request.token), undefined);
      const form = await readForm(request.req, FORM_BYTES_MAX);
      if (!form) return sendBodyTooLarge(request.res);
      const done = await act(request, form);
      if (typeof done === 'object') return goTo(request, done.path);
      answer(request, await readCheckout(request.ctx, request.token), done);
    },
  });
}

/** Does what the button says. Returns where to go, or why it was refused; a link that does not work is told by the page that follows. */
async function act({ ctx, token }: LinkRequest, form: Form): Promise<Fault | { readonly path: string } | undefined> {
  const gateway = form.get('gateway');
  // Reading the page again reads what the vendors say.
  if (form.has('refresh')) return undefined;
  try {
    if (gateway !== undefined) return await payByLink(ctx, token, gateway);
    await claimByLink(ctx, token, { note: form.get('note') ?? '' });
    return undefined;
  } catch (error) {
    if (gateway !== undefined && (error instanceof ExpectedError || error instanceof PluginFailedError))
      return 'checkout.fault.gateway';
    if (!(error instanceof ExpectedError)) throw error;
    if (error instanceof ValidationError) return 'checkout.fault.note';
    return error.code === 'TOO_MANY_CLAIMS' ? 'checkout.fault.claims' : 'checkout.fault';
  }
}

function goTo({ ctx, res }: LinkRequest, path: string): void {
  setPublicHeaders(res);
  res.writeHead(303, { Location: `${ctx.installation.baseUrl}${path}` }).end();
}

function answer(request: LinkRequest, checkout: Checkout, fault: Fault | undefined): void {
  const { ctx, req, res, token } = request;
  if (checkout.kind === 'unknown') return sendUnknownLink(res);
  const words = wordsOfReader(req);
  if (checkout.kind === 'expired')
    return sendPage(res, 410, {
      words,
      title: words.text('checkout.expired.title'),
      body: html`<p>${words.text('checkout.expired.text')}</p>`,
    });
  const { state, invoice, gateways, isOfflineOffered } = checkout;
  const isOpen = ['open', 'rejected', 'failed', 'action'].includes(state);
  const isRefused = fault !== undefined && isOpen;
  const flash = takeFlash(ctx.installation, { req, res, path: `${CHECKOUT_PATH}/${token}` });
  const notice = isRefused ? words.text(fault) : isOpen ? flash : undefined;
  sendPage(res, isRefused ? 422 : 200, {
    words,
    title: words.text(`checkout.${state}.title`),
    formTargets: isOpen ? gateways.flatMap(({ plugin }) => checkoutHosts(ctx, plugin)) : [],
    body: html`${messageOf(words, state, invoice)}
${notice === undefined ? html`` : html`<p class="error" role="alert"><bdi>${notice}</bdi></p>`}
${details(words, invoice)}
${isOpen ? online(words, gateways, invoice) : html``}
${state === 'processing' ? refresh(words) : html``}
${isOpen && isOfflineOffered ? payment(words, ctx.installation, invoice.uid) : html``}`,
  });
}

/** Browsers follow the redirects of a form only to where the page's policy allows. */
function checkoutHosts({ plugins }: Context, plugin: string): readonly string[] {
  const [vendor = '', name = ''] = plugin.split('/');
  const hosts = plugins?.live({ vendor, name })?.browserHosts ?? [];
  return hosts.map((host) => (/^localhost(:|$)/.test(host) ? `http://${host}` : `https://${host}`));
}

/** A button for each gateway, and one that asks the vendors again. */
function online(words: Words, gateways: readonly OfferedGateway[], { payment: latest }: CheckoutInvoice): Html {
  if (gateways.length === 0) return html``;
  const isBegun = latest?.isBegun === true && (latest.status === 'PENDING' || latest.status === 'REQUIRES_ACTION');
  return html`<h2>${words.text('checkout.online')}</h2>
${gateways.map(
  ({ uid, name }) => html`<form method="post">
<button type="submit" name="gateway" value="${uid}">${words.text('checkout.pay', { name })}</button>
</form>
`,
)}${
    isBegun
      ? html`<p>${words.text('checkout.begun')}</p>
${refresh(words)}`
      : html``
  }`;
}

function refresh(words: Words): Html {
  return html`<form method="post"><button class="other" type="submit" name="refresh" value="1">${words.text('checkout.refresh')}</button></form>`;
}

function messageOf(words: Words, state: CheckoutState, { payment: latest, paidAt }: CheckoutInvoice): Html {
  const sentences: string[] = [];
  if (state === 'paid' && paidAt) sentences.push(words.text('checkout.paid.date', { date: words.date(paidAt) }));
  if (state !== 'open') sentences.push(words.text(`checkout.${state}.text`));
  if (state === 'rejected' && latest?.reason)
    sentences.push(words.text('checkout.rejected.reason', { reason: latest.reason }));
  if (state === 'failed' && latest?.reason)
    sentences.push(words.text('checkout.failed.reason', { reason: latest.reason }));
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
