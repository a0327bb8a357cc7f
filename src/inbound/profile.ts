/** The page on which people change their own data on a list: the fields that its owner made visible. */
import { updatePersonFields } from '../domain/audience/update-person-fields.ts';
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import { readRecipient, type RecipientCard } from '../domain/tracking/recipient-read-model.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { ValidationError, type FieldErrors } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { faultsOf } from './field-fault.ts';
import { fieldInput, tagsOfMany } from './field-input.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { choiceForm, choose, FIELDS_OF_CHOICE, isChoice, type Chooser } from './list-choice.ts';
import { maskEmail } from './mask-email.ts';
import { sendBodyTooLarge, sendNotOnList, sendUnknownLink } from './notices.ts';
import { sendPage, type Page } from './page.ts';
import { wordsOfList } from './page-language.ts';
import { readForm, type Form } from './read-form.ts';
import type { Words } from './words.ts';

/** A page of full fields; more than a person types. */
const PROFILE_BYTES_MAX = 65_536;

/** `/profile/<token>`. GET shows, POST changes. */
export function profileMount(ctx: Context): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  return linkMount(ctx, {
    prefix: '/profile',
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const recipient = signer.read('updateProfile', request.token);
      if (!recipient) return sendUnknownLink(request.res);
      const person = await readRecipient(request.ctx, recipient);
      if (!person) return sendNotOnList(request.res);
      if (request.method === 'POST') return update(request, recipient, person);
      await sendForm(request, { recipient, person });
    },
  });
}

async function update(request: LinkRequest, recipient: TrackedRecipient, person: RecipientCard): Promise<void> {
  const { ctx, req, res } = request;
  const joined = new Set([...tagsOfMany(person.fields), ...FIELDS_OF_CHOICE]);
  const form = await readForm(req, PROFILE_BYTES_MAX, joined);
  const words = wordsOfList(person, req);
  if (!form) return sendBodyTooLarge(res, words);
  if (isChoice(form)) return choose(request, { recipient, person }, form);
  const { customerId, listId, recipientId } = recipient;
  try {
    const isThere = await updatePersonFields(ctx, { customerId, listId, id: recipientId }, changesIn(form, person));
    if (isThere) sendPage(res, 200, savedPage(words, person));
    else sendNotOnList(res, words);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const given = withGiven(person, form);
    await sendForm(request, { recipient, person: given }, faultsOf(error, given.fields, words));
  }
}

/** Only displayed fields can be changed, and only different values are: changes by others meanwhile stay. */
function changesIn(form: Form, { fields }: RecipientCard): Record<string, string> {
  const changed = fields.flatMap(({ tag, value }) => {
    const given = givenValue(form, tag);
    return given === undefined || given === value ? [] : [[tag, given] as const];
  });
  return Object.fromEntries(changed);
}

function withGiven(person: RecipientCard, form: Form): RecipientCard {
  return {
    ...person,
    fields: person.fields.map((field) => ({ ...field, value: givenValue(form, field.tag) ?? field.value })),
  };
}

/** Browsers send line breaks of their own kind. */
function givenValue(form: Form, tag: string): string | undefined {
  return form.get(tag)?.replaceAll('\r\n', '\n');
}

async function sendForm({ ctx, req, res }: LinkRequest, chooser: Chooser, errors?: FieldErrors): Promise<void> {
  const { person } = chooser;
  const { listName, email, fields } = person;
  const words = wordsOfList(person, req);
  sendPage(res, errors ? 422 : 200, {
    words,
    look: person,
    title: words.text('profile.title'),
    body: html`<p>${words.text('profile.text', { email: maskEmail(email), list: listName })}</p>
<form method="post">
${fields.map((field) => fieldInput(field, errors?.[field.tag]))}
<button type="submit">${words.text('profile.button')}</button>
</form>
${await choiceForm(ctx, chooser, words)}`,
  });
}

function savedPage(words: Words, look: RecipientCard): Page {
  return {
    words,
    look,
    title: words.text('profile.saved.title'),
    body: html`<p role="status">${words.text('profile.saved.text')}</p>`,
  };
}
