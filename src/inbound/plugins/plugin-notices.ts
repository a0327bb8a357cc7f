/** Short pages below `/plugins/<vendor>/<name>/pages`: why the page itself is not shown. */
import type { ServerResponse } from 'node:http';
import { html } from '../../lib/html.ts';
import { sendPage } from '../page.ts';
import { wordsOfReader } from '../page-language.ts';
import type { Words } from '../words.ts';
import type { PluginRequest } from './plugin-request.ts';

type Notice = 'unknown' | 'off' | 'forbidden' | 'foreign' | 'failed';

const STATUSES: Readonly<Record<Notice, number>> = {
  unknown: 404,
  off: 404,
  forbidden: 403,
  foreign: 403,
  failed: 500,
};

export function sendPluginNotice(
  res: ServerResponse,
  { notice, plugin, words = wordsOfReader(res.req) }: { notice: Notice; plugin: string; words?: Words },
): void {
  const title = words.text(`pluginPage.${notice}.title`);
  sendPage(res, STATUSES[notice], {
    words,
    title,
    body: html`<p>${words.text(`pluginPage.${notice}.text`, { plugin })}</p>`,
  });
}

/** What to do to log in with this browser. */
export function sendSignIn({ ctx, res }: PluginRequest): void {
  const words = wordsOfReader(res.req);
  const command = `curl -X POST -H "Authorization: Bearer $TOKEN" ${ctx.installation.baseUrl}/api/v1/login-token`;
  sendPage(res, 401, {
    words,
    title: words.text('pluginPage.signIn.title'),
    body: html`<p>${words.text('pluginPage.signIn.text')}</p>
<p><code dir="ltr">${command}</code></p>`,
  });
}
