/**
 * The frame of the public pages and the way they are sent: no script (except a captcha's), no cookie, nothing from elsewhere,
 * nothing cached. Readable in light and dark, at any size, by keyboard and by screen reader.
 */
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { html, Html } from '../lib/html.ts';
import { logoOf, PAPER, styleOfColor, type ListLook } from './list-look.ts';
import type { Words } from './words.ts';

export interface Page {
  /** Of the page's language: `lang` and `dir` are theirs. */
  readonly words: Words;
  readonly title: string;
  readonly body: Html;
  /** Of the page's list. */
  readonly look?: ListLook | undefined;
  /** Elements of the head that may load our own scripts and style sheets. */
  readonly scripts?: Html;
  /** Other sites to which a form may lead, such as `https://checkout.example.com`. */
  readonly formTargets?: readonly string[];
  /** Files of plugins that the page loads, and nothing else. */
  readonly files?: PageFiles;
}

/** Paths of this installation, without characters that mean something in a policy. */
export interface PageFiles {
  readonly origin: string;
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1.0625rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 0 auto; padding: 3rem 1.25rem; color: #1b1b1f; background: ${PAPER.light}; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input, select, textarea { font: inherit; color: inherit; background: transparent; border: 1px solid #6b6b76; border-radius: .4rem; padding: .5rem .6rem; width: 100%; box-sizing: border-box; min-height: 2.75rem; }
input[type=checkbox], input[type=radio] { width: 1.25rem; height: 1.25rem; min-height: 0; margin: 0; vertical-align: -.2em; accent-color: currentColor; }
fieldset { border: 1px solid #6b6b76; border-radius: .4rem; margin: 1.5rem 0 0; padding: 0 1rem 1rem; min-width: 0; }
legend { font-weight: 600; padding: 0 .35rem; margin-inline-start: -.35rem; }
fieldset label { font-weight: 400; margin: .75rem 0 0; }
.box { display: flex; gap: .6rem; align-items: baseline; }
.box input { flex: none; position: relative; top: .2em; }
option { color: #1b1b1f; background: #fff; }
button { font: inherit; font-weight: 600; margin-top: 1.5rem; padding: .6rem 1.4rem; min-height: 2.75rem; border: 0; border-radius: .4rem; background: #1f4fd8; color: #fff; cursor: pointer; }
button.other { background: transparent; color: inherit; border: 1px solid currentColor; }
form + form { margin-top: 2.5rem; }
:focus-visible { outline: 3px solid #7aa2ff; outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: start; padding-block: .35rem; padding-inline: 0 .75rem; vertical-align: top; }
td:last-child { white-space: nowrap; }
.logo { display: block; max-width: 100%; max-height: 6rem; margin: 0 0 1.5rem; box-sizing: border-box; }
altcha-widget { display: block; margin-top: 1rem; }
.error { color: #b3261e; margin: .25rem 0 0; }
@media (prefers-color-scheme: dark) { body { color: #ececf1; background: ${PAPER.dark}; } .logo { background: #fff; padding: .5rem; border-radius: .4rem; } .error { color: #ffb4ab; } }
`;
const STYLE_SOURCE = sourceOf(STYLE);
const SCRIPT_SOURCES = "; script-src 'self'; connect-src 'self'; worker-src 'self'";

/** Allows the styles of the page, its logo, and our own scripts if it has any. */
function policyOf({ look, scripts, files, formTargets = [] }: Page): string {
  if (files) return policyOfFiles(files);
  const color = look?.color ? ` ${sourceOf(styleOfColor(look.color))}` : '';
  const styles = `style-src ${STYLE_SOURCE}${color}${scripts ? " 'self'" : ''}`;
  const others = `${scripts ? SCRIPT_SOURCES : ''}${look?.logo ? "; img-src 'self'" : ''}`;
  return `default-src 'none'; ${styles}${others}; form-action ${["'self'", ...formTargets].join(' ')}; base-uri 'none'; frame-ancestors 'none'`;
}

/** Each file by its own address: other addresses of this installation may hold what a customer has uploaded. */
function policyOfFiles({ origin, scripts, styles }: PageFiles): string {
  const sources = (paths: readonly string[]) => paths.map((path) => ` ${origin}${path.split('?')[0] ?? ''}`).join('');
  const run = scripts.length === 0 ? '' : `; script-src${sources(scripts)}; connect-src 'self'`;
  return `default-src 'none'; style-src ${STYLE_SOURCE}${sources(styles)}; img-src 'self'${run}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
}

function sourceOf(style: string): string {
  return `'sha256-${createHash('sha256').update(style).digest('base64')}'`;
}

/** Headers that this module adds to those of every answer. */
export const PUBLIC_HEADERS = [
  ['Cache-Control', 'no-store'],
  ['X-Robots-Tag', 'noindex, nofollow'],
] as const;

const styleElement = new Html(`<style>${STYLE}</style>`);

/** Ends the answer with the page. On HEAD Node omits the body automatically. */
export function sendPage(res: ServerResponse, status: number, page: Page): void {
  const { words, title, body, look, scripts, files } = page;
  const { text } = html`<!doctype html>
<html lang="${words.language}" dir="${words.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
${styleElement}
${look?.color ? new Html(`<style>${styleOfColor(look.color)}</style>`) : undefined}
${scripts}
${files?.styles.map((href) => html`<link rel="stylesheet" href="${href}">`)}
</head>
<body>
<main>
${look && logoOf(look)}
<h1>${title}</h1>
${body}
</main>
${files?.scripts.map((src) => html`<script defer src="${src}"></script>`)}
</body>
</html>
`;
  res.setHeader('Content-Security-Policy', policyOf(page));
  sendHtml(res, status, text);
}

/** Ends the answer with html as it is; the caller has set the policy for it. */
export function sendHtml(res: ServerResponse, status: number, text: string): void {
  setPublicHeaders(res);
  // For a text node:http takes three times its length, until the client has it.
  const bytes = Buffer.from(text);
  res.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': bytes.length });
  res.end(bytes);
}

/** Headers of everything in this module: personal addresses are not cached, indexed or sent to other sites. */
export function setPublicHeaders(res: ServerResponse): void {
  for (const [name, value] of PUBLIC_HEADERS) res.setHeader(name, value);
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('X-Content-Type-Options', 'nosniff');
}
