/**
 * The link that verifies a sender's address. GET shows a button, POST verifies: scanners that follow every link change nothing.
 */
import {
  confirmFromAddress,
  readAddressLink,
  type AddressLinkState,
} from '../domain/sending/addresses/confirm-from-address.ts';
import type { Context } from '../domain/context.ts';
import { html } from '../lib/html.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { maskEmail } from './mask-email.ts';
import { sendBodyTooLarge, sendUnknownLink } from './notices.ts';
import { sendPage } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import { readForm } from './read-form.ts';

/** `/verify-address/<token>`. */
export function verifyAddressMount(ctx: Context): InboundMount {
  return linkMount(ctx, {
    prefix: '/verify-address',
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      if (request.method !== 'POST') return answer(request, await readAddressLink(request.ctx, request.token));
      if (!(await readForm(request.req))) return sendBodyTooLarge(request.res);
      answer(request, await confirmFromAddress(request.ctx, request.token));
    },
  });
}

function answer({ req, res }: LinkRequest, state: AddressLinkState): void {
  const words = wordsOfReader(req);
  switch (state.kind) {
    case 'unknown':
      return sendUnknownLink(res);
    case 'expired':
      return sendPage(res, 410, {
        words,
        title: words.text('verifyAddress.expired.title'),
        body: html`<p>${words.text('verifyAddress.expired.text')}</p>`,
      });
    case 'verified':
      return sendPage(res, 200, {
        words,
        title: words.text('verifyAddress.done.title'),
        body: html`<p role="status">${words.text('verifyAddress.done.text', { email: maskEmail(state.address.email) })}</p>`,
      });
    case 'open':
      return sendPage(res, 200, {
        words,
        title: words.text('verifyAddress.title'),
        body: html`<p>${words.text('verifyAddress.text', { email: maskEmail(state.address.email) })}</p>
<form method="post">
<button type="submit" name="verify" value="yes">${words.text('verifyAddress.button')}</button>
</form>
<p>${words.text('verifyAddress.ignore')}</p>`,
      });
  }
}
