/** The words of the mail that asks to confirm. Names come in by merge tags, so that nothing in them is markup. */

export interface ConfirmationMail {
  readonly subject: string;
  readonly html: string;
}

/** The mail around a confirmation link (an address of ours). Short, plain, and clear about doing nothing. */
export function confirmationMail(link: string): ConfirmationMail {
  return {
    subject: 'Please confirm your subscription to {LIST_NAME}',
    html: [
      '<!doctype html><html lang="en"><body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; margin: 2em auto;">',
      '<p>Somebody, most likely you, asked for mail from <strong>{LIST_NAME}</strong> to be sent to {EMAIL}.</p>',
      `<p><a href="${link}" style="display: inline-block; padding: 0.75em 1.5em; background: #1a56db; color: #ffffff;`,
      ' text-decoration: none; border-radius: 0.3em;">Yes, subscribe me</a></p>',
      `<p>If the button does not work, open this address: ${link}</p>`,
      '<p>If it was not you, do nothing: without your confirmation no more mail comes.</p>',
      '<p style="color: #555555; font-size: 0.9em;">{CONTACT_COMPANY}, {CONTACT_ADDRESS_1}, {CONTACT_CITY} {CONTACT_ZIP}</p>',
      '</body></html>',
    ].join('\n'),
  };
}
