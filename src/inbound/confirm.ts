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
import { wordsOfList } from './page-language.ts';
import { readForm } from './read-form.ts';
import type { Words } from './words.ts';

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
      const words = wordsOfList(person, request.req);
      if (person.status === 'subscribed') return sendPage(request.res, 200, donePage(words, person));
      const isLate = await isConfirmationLate(request.ctx, confirmation.expiresAt);
      sendPage(request.res, isLate ? 410 : 200, isLate ? latePage(words, person) : buttonPage(words, person));
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
  answer(res, { kind, person, words: wordsOfList(person, req) });
}

interface Answer {
  readonly kind: ConfirmationOutcome['kind'];
  readonly person: RecipientCard;
  readonly words: Words;
}

function answer(res: LinkRequest['res'], { kind, person, words }: Answer): void {
  switch (kind) {
    case 'confirmed':
    case 'already-subscribed':
      return sendPage(res, 200, donePage(words, person));
    case 'gone':
      return sendNotOnList(res, words);
    case 'expired':
    case 'used':
      return sendPage(res, 410, latePage(words, person));
  }
}

function buttonPage(words: Words, person: RecipientCard): Page {
  const { listName, email } = person;
  return {
    words,
    look: person,
    title: words.text('confirm.title', { list: listName }),
    body: html`<p>${words.text('confirm.text', { email: maskEmail(email) })}</p>
<form method="post">
<button type="submit" name="confirm" value="yes">${words.text('confirm.button')}</button>
</form>
<p>${words.text('confirm.ignore')}</p>`,
  };
}

function donePage(words: Words, person: RecipientCard): Page {
  const { listName, email } = person;
  return {
    words,
    look: person,
    title: words.text('confirm.done.title'),
    body: html`<p role="status">${words.text('confirm.done.text', { email: maskEmail(email), list: listName })}</p>`,
  };
}

function latePage(words: Words, person: RecipientCard): Page {
  const { listName } = person;
  return {
    words,
    look: person,
    title: words.text('confirm.late.title'),
    body: html`<p>${words.text('confirm.late.text', { list: listName })}</p>`,
  };
}
