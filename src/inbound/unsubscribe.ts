/**
 * The unsubscribe link. GET, which scanners follow, shows a page with a button and changes nothing; POST, which the
 * button and the robots of mail providers send (RFC 8058), unsubscribes at once: no login, no cookie, no redirect.
 */
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import type { RecipientCard } from '../domain/tracking/recipient-read-model.ts';
import { recordUnsubscribeOfReader } from '../domain/tracking/record-unsubscribe.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { undoToken } from '../domain/tracking/undo-token.ts';
import { isUnsubscribeReason, UNSUBSCRIBE_REASONS } from '../domain/tracking/unsubscribe-reason.ts';
import { html } from '../lib/html.ts';
import { choiceForm, choose, FIELDS_OF_CHOICE, isChoice } from './list-choice.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { maskEmail } from './mask-email.ts';
import { sendBodyTooLarge, sendNotOnList, sendUnknownLink } from './notices.ts';
import { sendPage, type Page } from './page.ts';
import { wordsOfList, wordsOfReader } from './page-language.ts';
import { FORM_BYTES_MAX, readForm, type Form } from './read-form.ts';
import { readerOf } from './reader-of.ts';
import { undoByReader, undoForm } from './undo-unsubscribe.ts';
import type { Words } from './words.ts';

/** Previews and tests carry links of subscriber 0. */
const NOBODY = 0n;

/** `/u/<token>`. */
export function unsubscribeMount(ctx: Context): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  return linkMount(ctx, {
    prefix: '/u',
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const recipient = signer.read('unsubscribe', request.token);
      if (!recipient) return sendUnknownLink(request.res);
      if (recipient.recipientId === NOBODY) return sendPage(request.res, 200, testPage(wordsOfReader(request.req)));
      if (request.method === 'POST') return unsubscribe(request, recipient);
      const person = await readerOf(request.ctx, recipient);
      if (!person) return sendNotOnList(request.res);
      if (person.status === 'unsubscribed') return sendDone(request, recipient, person);
      sendPage(request.res, 200, buttonPage(wordsOfList(person, request.req), person));
    },
  });
}

async function unsubscribe(request: LinkRequest, recipient: TrackedRecipient): Promise<void> {
  const { ctx, req, res, visitor } = request;
  const form = await readForm(req, FORM_BYTES_MAX, FIELDS_OF_CHOICE);
  if (!form) return sendBodyTooLarge(res);
  const isOneClick = form.get('List-Unsubscribe') === 'One-Click';
  const undo = form.get('undo');
  if (undo !== undefined && !isOneClick) return undoByReader({ ctx, req, res }, recipient, undo);
  if (isChoice(form) && !isOneClick) return chooseByReader(request, recipient, form);
  const given = form.get('reason') ?? '';
  const reason = isUnsubscribeReason(given) ? given : null;
  const leaving = { visitor, source: isOneClick ? 'one-click' : 'link', reason } as const;
  const recorded = await recordUnsubscribeOfReader(ctx, { recipient, ...leaving });
  const person = await readerOf(ctx, recipient);
  if (!person) return sendNotOnList(res);
  const { ended, isCounted = false } = recorded ?? {};
  // A program gets no button that it could press.
  const token =
    ended && !isOneClick && !visitor.isMachine
      ? undoToken(ctx.installation, recipient, { ended, isCounted })
      : undefined;
  await sendDone(request, recipient, person, { isOneClick, undo: token });
}

/** The choice of lists on the page that followed the click. */
async function chooseByReader(request: LinkRequest, recipient: TrackedRecipient, form: Form): Promise<void> {
  const person = await readerOf(request.ctx, recipient);
  if (!person) return sendNotOnList(request.res);
  await choose(request, { recipient, person }, form);
}

function testPage(words: Words): Page {
  return {
    words,
    title: words.text('unsubscribe.test.title'),
    body: html`<p role="status">${words.text('unsubscribe.test.text')}</p>`,
  };
}

function buttonPage(words: Words, person: RecipientCard): Page {
  const { listName, email } = person;
  return {
    words,
    look: person,
    title: words.text('unsubscribe.title', { list: listName }),
    body: html`<p>${words.text('unsubscribe.text', { email: maskEmail(email) })}</p>
<form method="post">
<label for="reason">${words.text('unsubscribe.reason')}</label>
<select id="reason" name="reason">
<option value="">${words.text('unsubscribe.reason.none')}</option>
${UNSUBSCRIBE_REASONS.map((code) => html`<option value="${code}">${words.text(`unsubscribe.reason.${code}`)}</option>`)}
</select>
<button type="submit">${words.text('unsubscribe.button')}</button>
</form>`,
  };
}

interface Done {
  readonly isOneClick?: boolean;
  readonly undo?: string | undefined;
}

async function sendDone(
  { ctx, req, res, visitor }: LinkRequest,
  recipient: TrackedRecipient,
  person: RecipientCard,
  { isOneClick = false, undo }: Done = {},
): Promise<void> {
  const { listName, email } = person;
  const words = wordsOfList(person, req);
  const isProgram = isOneClick || visitor.isMachine;
  const choice = isProgram ? undefined : await choiceForm(ctx, { recipient, person }, words);
  sendPage(res, 200, {
    words,
    look: person,
    title: words.text('unsubscribe.done.title'),
    body: html`<p role="status">${words.text('unsubscribe.done.text', { email: maskEmail(email), list: listName })}</p>
<p>${words.text('unsubscribe.done.close')}</p>
${undo === undefined ? undefined : undoForm(words, undo)}
${choice}`,
  });
}
