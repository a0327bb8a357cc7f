/** The pages of the inbox: plain HTML without script, readable by keyboard and screen reader. */
import { createHash } from 'node:crypto';
import { html, type Html } from '../lib/html.ts';
import { readableBytes, readableTime } from '../lib/units.ts';
import type { InboxEntry, InboxPage } from './inbox-store.ts';
import type { OpenedMail } from './opened-mail.ts';

export const TABS = ['html', 'text', 'headers', 'source'] as const;
export type Tab = (typeof TABS)[number];

/** A longer source is shown in part; the link below the tab has all of it. */
const SOURCE_LENGTH_SHOWN_MAX = 500_000;
const SAFE_LINK = /^(?:https?|mailto):/i;
const TAB_NAMES: Readonly<Record<Tab, string>> = { html: 'HTML', text: 'Text', headers: 'Headers', source: 'Source' };

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; background: #fff; color: #1b1b1f; }
a { color: #1a4fc4; }
body { max-width: 70rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #8886; overflow-wrap: anywhere; }
@media (min-width: 40rem) { th { white-space: nowrap; } }
nav ul { display: flex; flex-wrap: wrap; gap: 1rem; list-style: none; padding: 0; }
nav [aria-current] { font-weight: bold; text-decoration: none; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #8886; padding: 1rem; }
iframe { width: 100%; height: 70vh; border: 1px solid #8886; background: #fff; }
form { display: inline-block; margin: 0 1rem 1rem 0; }
input, button { font: inherit; padding: .2rem .6rem; }
.note { color: #595963; }
@media (prefers-color-scheme: dark) { :root { background: #16161a; color: #ececf1; } a { color: #9db8ff; } .note { color: #b4b4bd; } }
`;

/** The policy under which these pages are sent: one style sheet by its digest, frames from here, nothing else. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A mail's own HTML: no script, no form, nothing from outside, an origin of its own. */
export const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox";

/** The list, newest first. */
export function listPage(page: InboxPage, to: string): string {
  const search = to === '' ? '' : `&to=${encodeURIComponent(to)}`;
  const newest = page.entries[0]?.id ?? 0;
  const oldest = page.entries.at(-1)?.id ?? 0;
  return layout(
    'Inbox',
    html`
<p class="note">Mails that the development receiver got. None of them was delivered.</p>
<form method="get" action="/inbox" role="search"><label>Recipient <input type="search" name="to" value="${to}"></label> <button>Search</button></form>
<form method="post" action="/inbox/clear"><button>Delete all</button></form>
${page.entries.length === 0 ? html`<p>No mails.</p>` : entryTable(page.entries)}
<nav aria-label="Pages"><ul>
${page.hasNewer ? html`<li><a rel="prev" href="/inbox?after=${newest}${search}">Newer</a></li>` : ''}
${page.hasOlder && oldest > 0 ? html`<li><a rel="next" href="/inbox?before=${oldest}${search}">Older</a></li>` : ''}
</ul></nav>`,
  );
}

/** One mail under one of its tabs. */
export function messagePage(mail: OpenedMail, tab: Tab): string {
  const { entry: message, parsed } = mail;
  return layout(
    parsed.subject || '(no subject)',
    html`
<p><a href="/inbox">Inbox</a></p>
<table><tbody>
${row('From', parsed.from || message.mailFrom)}${row('Envelope sender', message.mailFrom)}${row('Recipients', message.rcptTo.join(', '))}
${row('Received', readableTime(message.receivedAt))}${row('Size', readableBytes(message.size))}
${parsed.attachments.map(({ filename, type, size }) => row('Attachment', `${filename} (${type}, ${readableBytes(size)})`))}
</tbody></table>
<nav aria-label="Parts"><ul>${TABS.map((name) => tabLink(message.id, name, tab))}</ul></nav>
${tabContent(mail, tab)}
${parsed.links.length === 0 ? '' : html`<h2>Links</h2><ul>${parsed.links.map(linkItem)}</ul>`}`,
  );
}

/** A short page that says why there is nothing else. */
export function noticePage(title: string, sentences: readonly string[]): string {
  return layout(title, html`${sentences.map((text) => html`<p>${text}</p>`)}<p><a href="/inbox">Inbox</a></p>`);
}

function layout(title: string, content: Html): string {
  // the style is a constant of this file: its digest is in the policy
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${
    html`<title>${title} - Mailwright development inbox</title>`.text
  }<style>${STYLE}</style></head><body><main>${html`<h1>${title}</h1>${content}`.text}</main></body></html>\n`;
}

function entryTable(entries: readonly InboxEntry[]): Html {
  return html`<table><thead><tr><th scope="col">Received</th><th scope="col">To</th><th scope="col">Subject</th><th scope="col">Size</th></tr></thead>
<tbody>${entries.map(
    ({ id, receivedAt, rcptTo, subject, size }) => html`<tr><td><time>${readableTime(receivedAt)}</time></td>
<td>${rcptTo.join(', ')}</td><td><a href="/inbox/${id}">${subject || '(no subject)'}</a></td><td>${readableBytes(size)}</td></tr>
`,
  )}</tbody></table>`;
}

function row(name: string, value: string): Html {
  return html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`;
}

function tabLink(id: number, name: Tab, current: Tab): Html {
  const label = TAB_NAMES[name];
  return name === current
    ? html`<li><a href="/inbox/${id}?tab=${name}" aria-current="page">${label}</a></li>`
    : html`<li><a href="/inbox/${id}?tab=${name}">${label}</a></li>`;
}

function tabContent({ entry, raw, parsed }: OpenedMail, tab: Tab): Html {
  if (tab === 'headers')
    return html`<table><tbody>${parsed.headers.map(({ name, value }) => row(name, value))}</tbody></table>`;
  if (tab === 'text')
    return parsed.text === null ? html`<p>This mail has no text part.</p>` : html`<pre>${parsed.text}</pre>`;
  if (tab === 'source') {
    const source = raw.toString('utf8', 0, SOURCE_LENGTH_SHOWN_MAX);
    return html`<p><a href="/inbox/${entry.id}/source">Source only</a></p><pre>${source}</pre>`;
  }
  if (parsed.html === null) return html`<p>This mail has no HTML part.</p>`;
  return html`<p class="note">Images and other files from outside are not loaded.</p>
<iframe sandbox="" src="/inbox/${entry.id}/html" title="The mail's HTML"></iframe>`;
}

function linkItem(link: string): Html {
  if (!SAFE_LINK.test(link)) return html`<li>${link}</li>`;
  return html`<li><a href="${link}" target="_blank" rel="noopener noreferrer">${link}</a></li>`;
}
