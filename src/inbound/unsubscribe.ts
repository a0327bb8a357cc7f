/**
 * The unsubscribe link. GET, which scanners follow, shows a page with a button and changes nothing; POST, which the
 * button and the robots of mail providers send (RFC 8058), unsubscribes at once: no login, no cookie, no redirect.
 */
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import { readRecipient, type RecipientCard } from '../domain/tracking/recipient-read-model.ts';
import { recordUnsubscribeOfReader } from '../domain/tracking/record-unsubscribe.ts';
import { sameAddressNow } from '../domain/tracking/same-address-read-model.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { isUnsubscribeReason, unsubscribeReasons } from '../domain/tracking/unsubscribe-reason.ts';
import { html } from '../lib/html.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { maskEmail } from './mask-email.ts';
import { sendBodyTooLarge, sendNotOnList, sendUnknownLink } from './notices.ts';
import { sendPage, type Page } from './page.ts';
import { readForm } from './read-form.ts';

/** Previews and tests carry links of subscriber 0. */
const NOBODY = 0n;
const TEST_PAGE: Page = {
  title: 'This is a test link',
  body: html`<p role="status">The link works. It is from a test message, so nobody was unsubscribed.</p>`,
};

/** `/u/<token>`. */
export function unsubscribeMount(ctx: Context): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  return linkMount(ctx, {
    prefix: '/u',
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const recipient = signer.read('unsubscribe', request.token);
      if (!recipient) return sendUnknownLink(request.res);
      if (recipient.recipientId === NOBODY) return sendPage(request.res, 200, TEST_PAGE);
      if (request.method === 'POST') return unsubscribe(request, recipient);
      const person = await readerOf(request.ctx, recipient);
      if (!person) return sendNotOnList(request.res);
      sendPage(request.res, 200, person.status === 'unsubscribed' ? donePage(person) : buttonPage(person));
    },
  });
}

async function unsubscribe({ ctx, req, res, visitor }: LinkRequest, recipient: TrackedRecipient): Promise<void> {
  const form = await readForm(req);
  if (!form) return sendBodyTooLarge(res);
  const isOneClick = form.get('List-Unsubscribe') === 'One-Click';
  const given = form.get('reason') ?? '';
  const reason = isUnsubscribeReason(given) ? given : null;
  const leaving = { visitor, source: isOneClick ? 'one-click' : 'link', reason } as const;
  await recordUnsubscribeOfReader(ctx, { recipient, ...leaving });
  const person = await readerOf(ctx, recipient);
  if (!person) return sendNotOnList(res);
  sendPage(res, 200, donePage(person));
}

/** The person behind the link: by the row it names, or by the address that its mail went to. */
async function readerOf(ctx: Context, recipient: TrackedRecipient): Promise<RecipientCard | undefined> {
  const person = await readRecipient(ctx, recipient);
  if (person) return person;
  const now = await sameAddressNow(ctx, recipient);
  return now && readRecipient(ctx, now);
}

function buttonPage({ listName, email }: RecipientCard): Page {
  return {
    title: `Unsubscribe from ${listName}?`,
    body: html`<p>${maskEmail(email)} will get no more mail from this list.</p>
<form method="post">
<label for="reason">Reason (optional)</label>
<select id="reason" name="reason">
<option value="">No answer</option>
${Object.entries(unsubscribeReasons).map(([code, text]) => html`<option value="${code}">${text}</option>`)}
</select>
<button type="submit">Unsubscribe</button>
</form>`,
  };
}

function donePage({ listName, email }: RecipientCard): Page {
  return {
    title: 'You are unsubscribed',
    body: html`<p role="status">${maskEmail(email)} gets no more mail from “${listName}”.</p>
<p>You can close this page.</p>`,
  };
}
