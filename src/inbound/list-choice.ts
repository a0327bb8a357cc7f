/**
 * The choice among a customer's lists on the profile page and after unsubscribing: a box for each list, and a button to leave all of
 * them. It is the form of its page: a POST without the token that the page had changes nothing.
 */
import { listChoices, type ListChoice } from '../domain/audience/list-choice-read-model.ts';
import { listNamesOf } from '../domain/audience/list-store.ts';
import type { Context } from '../domain/context.ts';
import { choiceToken, readChoiceToken, type ShownList } from '../domain/tracking/choice-token.ts';
import type { RecipientCard } from '../domain/tracking/recipient-read-model.ts';
import { recordListChoice, type RecordedChoice } from '../domain/tracking/record-list-choice.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { html, type Html } from '../lib/html.ts';
import { emailKey } from '../lib/text.ts';
import type { LinkRequest } from './link-request.ts';
import { maskEmail } from './mask-email.ts';
import { sendPage } from './page.ts';
import { wordsOfList } from './page-language.ts';
import type { Form } from './read-form.ts';
import type { Words } from './words.ts';

/** A form with this field is a choice; the lists chosen are one text with commas (`readForm`). */
const [TOKEN, CHOSEN, ALL] = ['choice', 'list', 'all'];
export const FIELDS_OF_CHOICE: ReadonlySet<string> = new Set([CHOSEN]);

/** The person of a link, as its page shows it. */
export interface Chooser {
  readonly recipient: TrackedRecipient;
  readonly person: RecipientCard;
}

export function isChoice(form: Form): boolean {
  return form.has(TOKEN);
}

/** The form; undefined where the customer offers no list. */
export async function choiceForm(
  ctx: Context,
  { recipient, person }: Chooser,
  words: Words,
): Promise<Html | undefined> {
  const page = { link: recipient, emailKey: emailKey(person.email) };
  const { customerId, listId } = recipient;
  const lists = await listChoices(ctx.db, { customerId, listId, emailKey: page.emailKey });
  if (lists.length === 0) return undefined;
  const shown = lists.map(({ id, status }) => ({ id, isSubscribed: status === 'subscribed' }));
  return html`<form method="post">
<input type="hidden" name="${TOKEN}" value="${choiceToken(ctx.installation, page, shown)}">
<fieldset aria-describedby="choice-text"><legend>${words.text('choice.legend')}</legend>
${lists.map((list) => listBox(words, list))}
</fieldset>
<p id="choice-text">${words.text('choice.text')}</p>
<button type="submit">${words.text('choice.button')}</button>
<button type="submit" class="other" name="${ALL}" value="yes">${words.text('choice.all')}</button>
</form>`;
}

function listBox(words: Words, { id, name, status }: ListChoice): Html {
  const checked = status === 'subscribed' ? html` checked` : undefined;
  const note = status === 'pending' ? html` <small>(${words.text('choice.pending')})</small>` : undefined;
  return html`<label class="box"><input type="checkbox" name="${CHOSEN}" value="${String(id)}"${checked}> <span><bdi>${name}</bdi>${note}</span></label>`;
}

/** Does what the form says and shows what was done, with the form as it is then. */
export async function choose({ ctx, req, res, visitor }: LinkRequest, chooser: Chooser, form: Form): Promise<void> {
  const { recipient, person } = chooser;
  const words = wordsOfList(person, req);
  const page = { link: recipient, emailKey: emailKey(person.email) };
  const shown = readChoiceToken(ctx.installation, page, form.get(TOKEN) ?? '');
  const recorded =
    shown &&
    (await recordListChoice(ctx, {
      recipient: { ...recipient, recipientId: person.recipientId },
      ...{ email: person.email, visitor, ...changesIn(form, shown) },
    }));
  const shownResults = recorded
    ? await results(ctx, recorded, { words, person, customerId: recipient.customerId, isAll: form.has(ALL) })
    : html`<p role="alert" class="error">${words.text('choice.invalid')}</p>`;
  sendPage(res, recorded ? 200 : 422, {
    words,
    look: person,
    title: words.text('choice.title'),
    body: html`${shownResults}
${await choiceForm(ctx, chooser, words)}`,
  });
}

/** Only boxes that the person has changed: what others have changed since the page was shown stays. */
function changesIn(form: Form, shown: readonly ShownList[]) {
  if (form.has(ALL)) return { leave: 'all', join: [] } as const;
  const chosen = (form.get(CHOSEN) ?? '').split(', ');
  const idsOf = (isSubscribed: boolean) =>
    shown
      .filter((list) => list.isSubscribed === isSubscribed && chosen.includes(String(list.id)) !== isSubscribed)
      .map(({ id }) => id);
  return { leave: idsOf(true), join: idsOf(false) };
}

interface Results {
  readonly words: Words;
  readonly person: RecipientCard;
  readonly customerId: bigint;
  readonly isAll: boolean;
}

/** What was done, for each result the lists by name; a deleted list has none. */
async function results(
  ctx: Context,
  recorded: RecordedChoice,
  { words, person, customerId, isAll }: Results,
): Promise<Html> {
  const email = maskEmail(person.email);
  if (isAll) return html`<p role="status">${words.text('choice.leftAll', { email })}</p>`;
  const ids = RESULTS.flatMap((result) => recorded[result]);
  const lists = (await listNamesOf(ctx.db, customerId, ids)).flatMap((list) => list ?? []);
  const names = new Map(lists.map(({ id, name }) => [id, html`<li><bdi>${name}</bdi></li>`]));
  const parts = RESULTS.flatMap((result) => {
    const items = recorded[result].flatMap((id) => names.get(id) ?? []);
    return items.length === 0 ? [] : [html`<p>${words.text(`choice.${result}`, { email })}</p><ul>${items}</ul>`];
  });
  return html`<div role="status">${parts.length > 0 ? parts : html`<p>${words.text('choice.same')}</p>`}</div>`;
}

/** In the order of the page. */
const RESULTS = ['left', 'asked', 'later', 'closed'] as const;
