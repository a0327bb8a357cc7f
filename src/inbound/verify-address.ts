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

function answer({ res }: LinkRequest, state: AddressLinkState): void {
  switch (state.kind) {
    case 'unknown':
      return sendUnknownLink(res);
    case 'expired':
      return sendPage(res, 410, {
        title: 'This link has expired',
        body: html`<p>It worked for seven days. Request a new one in the same way as this one.</p>`,
      });
    case 'verified':
      return sendPage(res, 200, {
        title: 'The address is verified',
        body: html`<p role="status">Mail may be sent from ${maskEmail(state.address.email)} now.</p>`,
      });
    case 'open':
      return sendPage(res, 200, {
        title: 'Send mail from this address?',
        body: html`<p>Somebody wants to send mail in the name of ${maskEmail(state.address.email)}.</p>
<form method="post">
<button type="submit" name="verify" value="yes">Yes, this is right</button>
</form>
<p>If you do not know about this, close this page and nothing happens.</p>`,
      });
  }
}
