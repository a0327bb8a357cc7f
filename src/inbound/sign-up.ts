/**
 * The sign-up page of a list that allows it, and the target of forms on other sites: the same fields, a page as the answer, no
 * script needed. The answer does not say whether the address is on the list.
 */
import { publicList, type PublicList } from '../domain/audience/public-list-read-model.ts';
import { signUp } from '../domain/audience/sign-up.ts';
import type { Context } from '../domain/context.ts';
import { NotFoundError, RateLimitedError, ValidationError, type FieldErrors } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { fieldInput, tagsOfMany } from './field-input.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { sendBodyTooLarge } from './notices.ts';
import { sendPage, type Page } from './page.ts';
import { readForm, type Form } from './read-form.ts';

/** A page of full fields; more than a person types. */
const SIGN_UP_BYTES_MAX = 65_536;
/** Invisible to people; robots fill it in. */
const TRAP = 'homepage';

/** `/signup/<list uid>`. GET shows the form, POST signs up. */
export function signUpMount(ctx: Context): InboundMount {
  return linkMount(ctx, {
    prefix: '/signup',
    methods: ['GET', 'HEAD', 'POST'],
    async serve(request) {
      const list = await publicList(request.ctx, request.token);
      if (!list) return sendNoList(request.res);
      if (request.method === 'POST') return take(request, list);
      sendPage(request.res, 200, formPage(list));
    },
  });
}

async function take({ ctx, req, res, token }: LinkRequest, list: PublicList): Promise<void> {
  const form = await readForm(req, SIGN_UP_BYTES_MAX, tagsOfMany(list.fields));
  if (!form) return sendBodyTooLarge(res);
  const email = form.get('EMAIL') ?? form.get('email') ?? '';
  try {
    await signUp(ctx, { listUid: token, email, fieldValues: valuesIn(form, list), trap: form.get(TRAP) });
    sendPage(res, 200, thanksPage(list));
  } catch (error) {
    if (error instanceof NotFoundError) return sendNoList(res);
    if (error instanceof RateLimitedError) return sendTooMany(res, error);
    if (!(error instanceof ValidationError)) throw error;
    sendPage(res, 422, formPage(list, { email, values: valuesIn(form, list), errors: error.fields }));
  }
}

/** Only fields that the form shows are taken. */
function valuesIn(form: Form, { fields }: PublicList): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ tag }) => {
      const value = form.get(tag);
      return value === undefined ? [] : [[tag, value.replaceAll('\r\n', '\n')] as const];
    }),
  );
}

interface Given {
  readonly email: string;
  readonly values: Readonly<Record<string, string>>;
  readonly errors: FieldErrors;
}

function formPage({ name, fields }: PublicList, given: Given = { email: '', values: {}, errors: {} }): Page {
  const { email, values, errors } = given;
  const address = { tag: 'EMAIL', label: 'Email', type: 'text', required: true, options: [], value: email };
  const shown = [address, ...fields.map((field) => ({ ...field, value: values[field.tag] ?? '' }))];
  return {
    title: `Subscribe to ${name}`,
    body: html`<form method="post">
${shown.map((field) => fieldInput(field, errors[field.tag]))}
<div hidden><label for="${TRAP}">Leave this empty</label><input id="${TRAP}" name="${TRAP}" autocomplete="off" tabindex="-1"></div>
<button type="submit">Subscribe</button>
</form>
<p>You get a mail with a link. You will not get mail from this list until you confirm.</p>`,
  };
}

function thanksPage({ name }: PublicList): Page {
  return {
    title: 'Please check your mailbox',
    body: html`<p role="status">If this address is not on “${name}” yet, we send it a mail now. Open the link in the mail to
confirm.</p>`,
  };
}

function sendNoList(res: LinkRequest['res']): void {
  sendPage(res, 404, {
    title: 'Sign-up is closed',
    body: html`<p>The list does not exist any more, or its owner accepts no sign-ups at present.</p>`,
  });
}

function sendTooMany(res: LinkRequest['res'], { retryAfterSeconds }: RateLimitedError): void {
  res.setHeader('Retry-After', String(retryAfterSeconds));
  sendPage(res, 429, {
    title: 'Please try again later',
    body: html`<p>There were too many sign-ups from your network in a short time.</p>`,
  });
}
