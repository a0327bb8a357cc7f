/**
 * The built-in texts of a list's mails, used until its owner changes them. Names are inserted by merge tags, so that nothing in
 * them is markup.
 */
import type { ListMailKind, MailTexts } from './list-mail.ts';

const FOOT =
  '<p style="color: #555555; font-size: 0.9em;">{CONTACT_COMPANY}, {CONTACT_ADDRESS_1}, {CONTACT_CITY} {CONTACT_ZIP}</p>';
const PLAIN_FOOT = '-- \n{CONTACT_COMPANY}, {CONTACT_ADDRESS_1}, {CONTACT_CITY} {CONTACT_ZIP}\n';

/** Short, plain, and clear about what happens without a reaction. */
export const BUILT_IN_MAILS: Readonly<Record<ListMailKind, MailTexts>> = {
  confirmation: {
    subject: 'Please confirm your subscription to {LIST_NAME}',
    html: page([
      '<p>Somebody, probably you, signed up {EMAIL} for mail from <strong>{LIST_NAME}</strong>.</p>',
      '<p><a href="{CONFIRM_URL}" style="display: inline-block; padding: 0.75em 1.5em; background: #1a56db; color: #ffffff;' +
        ' text-decoration: none; border-radius: 0.3em;">Yes, subscribe me</a></p>',
      '<p>If the button does not work, open this address: {CONFIRM_URL}</p>',
      '<p>If it was not you, do nothing: without your confirmation you get no more mail.</p>',
      FOOT,
    ]),
    plain: [
      'Somebody, probably you, signed up {EMAIL} for mail from {LIST_NAME}.',
      'To confirm, open this address:\n\n{CONFIRM_URL}',
      'If it was not you, do nothing: without your confirmation you get no more mail.',
      PLAIN_FOOT,
    ].join('\n\n'),
  },
  welcome: {
    subject: 'Welcome to {LIST_NAME}',
    html: page([
      '<p>Thank you for subscribing to <strong>{LIST_NAME}</strong>. From now on {EMAIL} gets its mails.</p>',
      '<p>You can <a href="{UPDATE_PROFILE_URL}">change your details</a> or <a href="{UNSUBSCRIBE_URL}">unsubscribe</a>' +
        ' whenever you like.</p>',
      FOOT,
    ]),
    plain: [
      'Thank you for subscribing to {LIST_NAME}. From now on {EMAIL} gets its mails.',
      'Change your details: {UPDATE_PROFILE_URL}\nUnsubscribe: {UNSUBSCRIBE_URL}',
      PLAIN_FOOT,
    ].join('\n\n'),
  },
  goodbye: {
    subject: 'You have left {LIST_NAME}',
    html: page([
      '<p>{EMAIL} is no longer on the list <strong>{LIST_NAME}</strong>. This is the last mail from this list.</p>',
      '<p>If this was a mistake, sign up again.</p>',
      FOOT,
    ]),
    plain: [
      '{EMAIL} is no longer on the list {LIST_NAME}. This is the last mail from this list.',
      'If this was a mistake, sign up again.',
      PLAIN_FOOT,
    ].join('\n\n'),
  },
  'unsubscribe-notification': {
    subject: '{UNSUBSCRIBE_COUNT} left {LIST_NAME}',
    html: page([
      '<p>Since the last notification, {UNSUBSCRIBE_COUNT} unsubscribed from the list <strong>{LIST_NAME}</strong>:</p>',
      '<p style="white-space: pre-line">{UNSUBSCRIBED_PEOPLE}</p>',
    ]),
    plain:
      'Since the last notification, {UNSUBSCRIBE_COUNT} unsubscribed from the list {LIST_NAME}:\n\n{UNSUBSCRIBED_PEOPLE}\n',
  },
};

function page(lines: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; margin: 2em auto;">',
    ...lines,
    '</body></html>',
  ].join('\n');
}
