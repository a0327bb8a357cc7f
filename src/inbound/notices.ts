/** Short pages that say one thing, shared by several addresses. */
import type { ServerResponse } from 'node:http';
import { html } from '../lib/html.ts';
import { sendPage } from './page.ts';

const BUSY_RETRY_SECONDS = 5;

/** The link is not ours, or was changed. */
export function sendUnknownLink(res: ServerResponse): void {
  sendPage(res, 404, {
    title: 'This link does not work',
    body: html`<p>The address is incomplete or was changed on its way. Please open the link in the message again, or copy
the whole of it into your browser.</p>`,
  });
}

/** The link is ours, but with the reader's values it is no web address. */
export function sendNowhere(res: ServerResponse): void {
  sendPage(res, 404, {
    title: 'This link leads nowhere',
    body: html`<p>The author of the message made a mistake in this link; your browser works correctly. Reply to the message to ask
for the right address.</p>`,
  });
}

/** The link is ours, and its sender's account is disabled. */
export function sendStoppedLink(res: ServerResponse): void {
  sendPage(res, 410, {
    title: 'This link no longer works',
    body: html`<p>The account of the sender of this message is disabled. The link to unsubscribe in the message still works.</p>`,
  });
}

/** The person or the list behind the link is gone. For a robot that unsubscribes this is a success. */
export function sendNotOnList(res: ServerResponse): void {
  sendPage(res, 200, {
    title: 'You are not on this list',
    body: html`<p>Your address is no longer on the mailing list of this message. You do not have to do anything.</p>`,
  });
}

/**
 * The message of the link is gone, with its campaign, its list or its reader. The link was right and nobody has to do anything,
 * so the answer is that of `sendNotOnList`: all links of a deleted list say the same.
 */
export function sendMessageGone(res: ServerResponse): void {
  sendPage(res, 200, {
    title: 'This message is no longer here',
    body: html`<p>Its sender has deleted it, or your address is no longer on the list of this message. You do not have to do
anything.</p>`,
  });
}

export function sendBodyTooLarge(res: ServerResponse): void {
  res.setHeader('Connection', 'close');
  sendPage(res, 413, { title: 'The form is too large', body: html`<p>The form was too large.</p>` });
}

/** Too many requests for the message of one address wait already. */
export function sendBusy(res: ServerResponse): void {
  res.setHeader('Retry-After', String(BUSY_RETRY_SECONDS));
  sendPage(res, 503, {
    title: 'Please try again in a moment',
    body: html`<p>Many people open their messages at this moment.</p>`,
  });
}
