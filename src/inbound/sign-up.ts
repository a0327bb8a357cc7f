/**
 * The sign-up page of a list that allows it, and the target of forms on other sites: the same fields, a page as the answer, no
 * script needed. The answer does not say whether the address is on the list.
 */
import { publicList, type PublicList } from '../domain/audience/public-list-read-model.ts';
import { mayAsk } from '../domain/audience/sign-up-captcha.ts';
import { signUp } from '../domain/audience/sign-up.ts';
import type { Context } from '../domain/context.ts';
import type { RecipientField } from '../domain/tracking/recipient-read-model.ts';
import { NotFoundError, RateLimitedError, ValidationError, type FieldErrors } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { captchaScripts, captchaWidget } from './captcha.ts';
import { EMAIL_TAG, faultsOf } from './field-fault.ts';
import { fieldInput, tagsOfMany } from './field-input.ts';
import { linkMount, type InboundMount, type LinkRequest } from './link-request.ts';
import { sendBodyTooLarge } from './notices.ts';
import { sendPage, type Page } from './page.ts';
import { wordsOfList, wordsOfReader } from './page-language.ts';
import { readForm, type Form } from './read-form.ts';
import type { Words } from './words.ts';

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
      if (!list) return sendNoList(request.res, wordsOfReader(request.req));
      if (request.method === 'POST') return take(request, list);
      const uid = list.captcha === 'always' && mayAsk(ctx.installation) ? request.token : undefined;
      sendPage(request.res, 200, formPage(wordsOfList(list, request.req), list, { ...NOTHING, captchaOf: uid }));
    },
  });
}

async function take({ ctx, req, res, token }: LinkRequest, list: PublicList): Promise<void> {
  const form = await readForm(req, SIGN_UP_BYTES_MAX, tagsOfMany(list.fields));
  const words = wordsOfList(list, req);
  if (!form) return sendBodyTooLarge(res, words);
  const email = form.get('EMAIL') ?? form.get('email') ?? '';
  try {
    await signUp(ctx, {
      listUid: token,
      email,
      fieldValues: valuesIn(form, list),
      trap: form.get(TRAP),
      captcha: form.get('altcha'),
    });
    sendPage(res, 200, thanksPage(words, list));
  } catch (error) {
    if (error instanceof NotFoundError) return sendNoList(res, words);
    if (error instanceof RateLimitedError) return sendTooMany(res, { words, look: list }, error);
    if (!(error instanceof ValidationError)) throw error;
    const values = valuesIn(form, list);
    const errors = faultsOf(error, shownFields(words, list, { email, values }), words);
    const isAsked = error.fields['captcha'] !== undefined || (list.captcha === 'always' && mayAsk(ctx.installation));
    sendPage(res, 422, formPage(words, list, { email, values, errors, captchaOf: isAsked ? token : undefined }));
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
  readonly errors?: FieldErrors;
  /** The uid of the list, if the form has a captcha. */
  readonly captchaOf?: string | undefined;
}

const NOTHING: Given = { email: '', values: {} };

function shownFields(words: Words, { fields }: PublicList, { email, values }: Given): RecipientField[] {
  const label = words.text('signUp.email');
  const address: RecipientField = { tag: EMAIL_TAG, label, type: 'text', required: true, options: [], value: email };
  return [address, ...fields.map((field) => ({ ...field, value: values[field.tag] ?? '' }))];
}

function formPage(words: Words, list: PublicList, given = NOTHING): Page {
  return {
    words,
    look: list,
    title: words.text('signUp.title', { list: list.listName }),
    body: html`<form method="post">
${shownFields(words, list, given).map((field) => fieldInput(field, given.errors?.[field.tag]))}
<div hidden><label for="${TRAP}">${words.text('signUp.trap')}</label><input id="${TRAP}" name="${TRAP}" autocomplete="off" tabindex="-1"></div>
${given.captchaOf === undefined ? undefined : captchaWidget(words, given.captchaOf, given.errors?.['captcha'])}
<button type="submit">${words.text('signUp.button')}</button>
</form>
<p>${words.text('signUp.text')}</p>`,
    ...(given.captchaOf === undefined ? {} : { scripts: captchaScripts }),
  };
}

function thanksPage(words: Words, list: PublicList): Page {
  return {
    words,
    look: list,
    title: words.text('signUp.thanks.title'),
    body: html`<p role="status">${words.text('signUp.thanks.text', { list: list.listName })}</p>`,
  };
}

function sendNoList(res: LinkRequest['res'], words: Words): void {
  sendPage(res, 404, {
    words,
    title: words.text('signUp.closed.title'),
    body: html`<p>${words.text('signUp.closed.text')}</p>`,
  });
}

function sendTooMany(
  res: LinkRequest['res'],
  { words, look }: Pick<Page, 'words' | 'look'>,
  { retryAfterSeconds }: RateLimitedError,
): void {
  res.setHeader('Retry-After', String(retryAfterSeconds));
  sendPage(res, 429, {
    words,
    look,
    title: words.text('signUp.tooMany.title'),
    body: html`<p>${words.text('signUp.tooMany.text', { minutes: Math.ceil(retryAfterSeconds / 60) })}</p>`,
  });
}
