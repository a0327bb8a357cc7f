/** The button on the page after unsubscribing that brings the subscription back. */
import { undoRecordedUnsubscribe } from '../domain/tracking/record-unsubscribe.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { readUndoToken } from '../domain/tracking/undo-token.ts';
import { html, type Html } from '../lib/html.ts';
import type { LinkRequest } from './link-request.ts';
import { maskEmail } from './mask-email.ts';
import { sendNotOnList } from './notices.ts';
import { sendPage } from './page.ts';
import { wordsOfList } from './page-language.ts';
import { readerOf } from './reader-of.ts';
import type { Words } from './words.ts';

export function undoForm(words: Words, token: string): Html {
  return html`<form method="post">
<input type="hidden" name="undo" value="${token}">
<button type="submit">${words.text('undo.button')}</button>
</form>`;
}

/** Answers the button. */
export async function undoByReader(
  { ctx, req, res }: Pick<LinkRequest, 'ctx' | 'req' | 'res'>,
  recipient: TrackedRecipient,
  token: string,
): Promise<void> {
  const undoable = readUndoToken(ctx.installation, recipient, token);
  const isUndone = undoable !== undefined && (await undoRecordedUnsubscribe(ctx, recipient, undoable));
  const person = await readerOf(ctx, recipient);
  if (!person) return sendNotOnList(res);
  const words = wordsOfList(person, req);
  const outcome = isUndone || (undoable && person.status === 'subscribed') ? 'done' : 'late';
  const names = { email: maskEmail(person.email), list: person.listName };
  sendPage(res, outcome === 'done' ? 200 : 410, {
    words,
    look: person,
    title: words.text(`undo.${outcome}.title`),
    body: html`<p role="status">${words.text(`undo.${outcome}.text`, names)}</p>`,
  });
}
