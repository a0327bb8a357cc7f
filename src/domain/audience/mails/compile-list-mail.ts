/** A list's mail as a message: compiled as it will be sent, to check it when it is saved and to preview it. */
import { ValidationError } from '../../../lib/errors.ts';
import { compileMessage } from '../../content/compile-message.ts';
import type { CompiledMessage, MessageRecipient, MessageTexts } from '../../content/message.ts';
import { countryOf } from '../countries.ts';
import { NOTIFICATION_TAGS, type ListMailKind, type MailTexts } from './list-mail.ts';
import type { MailSender } from './mail-sender-read-model.ts';

/** The contact in the form for messages: with the country's name. */
export function contactOf({ contact }: MailSender) {
  return { ...contact, country: countryOf(contact.countryId)?.name ?? '' };
}

/** Tags that a mail of this kind may contain, with the text for a missing value. */
export function tagsOf(kind: ListMailKind, { fieldDefaults }: MailSender): Readonly<Record<string, string>> {
  return kind === 'unsubscribe-notification' ? NOTIFICATION_TAGS : fieldDefaults;
}

/** Throws ValidationError on `subject`, `html` or `plain`, with the line where Liquid has one. */
export async function compileListMail(
  sender: MailSender,
  kind: ListMailKind,
  texts: MailTexts,
): Promise<CompiledMessage> {
  return compileMessage({
    ...{ kind: 'transactional', customerUid: sender.customerUid, campaign: { uid: '', name: '' } },
    ...{ list: { ...sender.list, contact: contactOf(sender) }, from: sender.from, replyTo: null },
    ...{ subject: texts.subject, html: texts.html, plain: texts.plain === '' ? null : texts.plain },
    ...{ trackOpens: false, trackClicks: false, fieldDefaults: tagsOf(kind, sender) },
  });
}

/** A sample person for previews. */
export const SAMPLE_PERSON: MessageRecipient = {
  email: 'reader@example.com',
  uid: '0000000000000',
  fields: { UNSUBSCRIBE_COUNT: 2, UNSUBSCRIBED_PEOPLE: 'ann@example.com\nbob@example.com' },
  messageId: '<preview@example.com>',
  links: {
    click: (_no, url) => url,
    open: () => '',
    unsubscribe: () => 'https://example.com/unsubscribe',
    webView: () => '',
    updateProfile: () => 'https://example.com/profile',
    confirm: () => 'https://example.com/confirm',
  },
};

/**
 * A confirmation mail without its link is useless. So the mail is filled, and the link searched where its reader would see it: in
 * the html outside of comments, and in the plain text. Throws ValidationError `CONFIRM_URL_MISSING`.
 */
export async function requireConfirmLink({ texts }: CompiledMessage, given: MailTexts): Promise<void> {
  const link = 'https://example.com/confirm-7d1f';
  const filled: MessageTexts = await texts({
    ...SAMPLE_PERSON,
    links: { ...SAMPLE_PERSON.links, confirm: () => link },
  });
  const message = 'The mail must show the link that confirms: put {CONFIRM_URL} into it.';
  const isInHtml = withoutComments(filled.html ?? '').includes(link);
  const isInPlain = given.plain === '' || filled.plain.includes(link);
  const errors = { ...(isInHtml ? {} : { html: [message] }), ...(isInPlain ? {} : { plain: [message] }) };
  if (Object.keys(errors).length > 0) throw new ValidationError(errors, 'CONFIRM_URL_MISSING');
}

/** Searched step by step: a pattern would read a text of opened comments once for each of them. */
function withoutComments(html: string): string {
  let seen = '';
  let from = 0;
  for (let start = html.indexOf('<!--'); start !== -1; start = html.indexOf('<!--', from)) {
    const end = html.indexOf('-->', start + 4);
    if (end === -1) break;
    seen += html.slice(from, start);
    from = end + 3;
  }
  return seen + html.slice(from);
}
