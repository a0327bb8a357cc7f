/** Short pages that say one thing, shared by several addresses. */
import type { ServerResponse } from 'node:http';
import { html } from '../lib/html.ts';
import { sendPage } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import type { Words } from './words.ts';

const BUSY_RETRY_SECONDS = 5;

/** Each has a title and a text in the message files. */
type Notice = 'unknownLink' | 'nowhere' | 'stopped' | 'notOnList' | 'messageGone' | 'tooLarge' | 'busy';

/** The link is not ours, or was changed. */
export function sendUnknownLink(res: ServerResponse): void {
  sendNotice(res, 404, 'unknownLink');
}

/** The link is ours, but with the reader's values it is no web address. */
export function sendNowhere(res: ServerResponse): void {
  sendNotice(res, 404, 'nowhere');
}

/** The link is ours, and its sender's account is disabled. */
export function sendStoppedLink(res: ServerResponse): void {
  sendNotice(res, 410, 'stopped');
}

/** The person or the list behind the link is gone. For a robot that unsubscribes this is a success. */
export function sendNotOnList(res: ServerResponse, words?: Words): void {
  sendNotice(res, 200, 'notOnList', words);
}

/**
 * The message of the link is gone, with its campaign, its list or its reader. The link was right and nobody has to do anything,
 * so the answer is that of `sendNotOnList`: all links of a deleted list say the same.
 */
export function sendMessageGone(res: ServerResponse): void {
  sendNotice(res, 200, 'messageGone');
}

export function sendBodyTooLarge(res: ServerResponse, words?: Words): void {
  res.setHeader('Connection', 'close');
  sendNotice(res, 413, 'tooLarge', words);
}

/** Too many requests for the message of one address wait already. */
export function sendBusy(res: ServerResponse): void {
  res.setHeader('Retry-After', String(BUSY_RETRY_SECONDS));
  sendNotice(res, 503, 'busy');
}

/** Without words of a list, in the language of the reader's browser. */
function sendNotice(res: ServerResponse, status: number, notice: Notice, words = wordsOfReader(res.req)): void {
  const title = words.text(`notice.${notice}.title`);
  sendPage(res, status, { words, title, body: html`<p>${words.text(`notice.${notice}.text`)}</p>` });
}
