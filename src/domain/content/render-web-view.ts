/**
 * The message as a page in the browser, for the recipient of the link, without pixel. The html is the customer's: serve it with
 * `Content-Security-Policy: sandbox`.
 */
import { escapeHtml } from '../../lib/html.ts';
import { fillText, type FillScope, type Segment } from './fill-scope.ts';

/** The page of one recipient: the html part, or the plain text in a bare page. */
export function renderWebView(
  message: { html: readonly Segment[] | undefined; plain: readonly Segment[] },
  scope: FillScope,
): string {
  if (message.html !== undefined) return fillText(message.html, scope);
  const text = escapeHtml(fillText(message.plain, scope));
  return (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Message</title></head>\n' +
    `<body><pre style="white-space:pre-wrap;font:16px/1.5 sans-serif">${text}</pre></body>\n</html>\n`
  );
}
