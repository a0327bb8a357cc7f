/**
 * The confirmation link of double opt-in. GET shows a button, POST confirms: a scanner that follows every link of a mail would
 * otherwise sign people up.
 */
import {
  confirmSubscription,
  isConfirmationLate,
  type ConfirmationOutcome,
} from '../domain/audience/confirm-subscription.ts';
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import { readRecipient, type RecipientCard } from '../domain/tracking/recipient-read-model.ts';
import type { TrackedConfirmation } from '../domain/tracking/tracking.ts';
import { html } from '../lib/html.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { maskEmail } from './mask-email.ts';
import { sendBodyTooLarge, sendNotOnList, sendUnknownLink } from './notices.ts';
import { sendPage, type Page } from './page.ts';
import { readForm } from './read-form.ts';

/** `/confirm/<token>`. */
export function confirmMount(ctx: Context): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  return linkMount(ctx, {
    prefix: '/confirm',
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const confirmation = signer.readConfirmation(request.token);
      if (!confirmation) return sendUnknownLink(request.res);
      const person = await readRecipient(request.ctx, confirmation);
      if (!person) return sendNotOnList(request.res);
      if (request.method === 'POST') return confirm(request, confirmation, person);
      if (person.status === 'subscribed') return sendPage(request.res, 200, donePage(person));
      const isLate = await isConfirmationLate(request.ctx, confirmation.expiresAt);
      sendPage(request.res, isLate ? 410 : 200, isLate ? latePage(person) : buttonPage(person));
    },
  });
}

async function confirm(
  { ctx, req, res }: LinkRequest,
  confirmation: TrackedConfirmation,
  person: RecipientCard,
): Promise<void> {
  // The form's content does not matter, but it is read: an answer before the end of the body looks like a failure.
  if (!(await readForm(req))) return sendBodyTooLarge(res);
  const { customerId, listId, recipientId, expiresAt } = confirmation;
  const { kind } = await confirmSubscription(ctx, { customerId, listId, id: recipientId, expiresAt });
  answer(res, kind, person);
}

function answer(res: LinkRequest['res'], kind: ConfirmationOutcome['kind'], person: RecipientCard): void {
  switch (kind) {
    case 'confirmed':
    case 'already-subscribed':
      return sendPage(res, 200, donePage(person));
    case 'gone':
      return sendNotOnList(res);
    case 'expired':
    case 'used':
      return sendPage(res, 410, latePage(person));
  }
}

function buttonPage({ listName, email }: RecipientCard): Page {
  return {
    title: `Subscribe to ${listName}?`,
    body: html`<p>Please confirm that ${maskEmail(email)} should get the mails of this list.</p>
<form method="post">
<button type="submit" name="confirm" value="yes">Yes, subscribe me</button>
</form>
<p>If you did not ask for this, close this page and nothing happens.</p>`,
  };
}

function donePage({ listName, email }: RecipientCard): Page {
  return {
    title: 'You are subscribed',
    body: html`<p role="status">Thank you. ${maskEmail(email)} gets the mails of “${listName}” from now on.</p>`,
  };
}

function latePage({ listName }: RecipientCard): Page {
  return {
    title: 'This link no longer works',
    body: html`<p>It was used before, or it has expired. Please sign up to “${listName}” again to get a new one.</p>`,
  };
}
