/**
 * The message as a page of ours: title, language and landmark around a frame. In the frame is its html, which is the customer's
 * and is treated as hostile: a sandbox without scripts, forms or our origin. The frame has an address of its own, so that links
 * to places in the message work.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { DisabledCustomers } from '../domain/accounts/disabled-customers.ts';
import type { Context } from '../domain/context.ts';
import { linkSignerOf } from '../domain/tracking/link-signer.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts';
import { html, Html } from '../lib/html.ts';
import { hasMemory } from '../lib/large-answers.ts';
import { allowFraming, authorPolicy, LINKS_OUT, linksInto, plainTextPage, type Framers } from './author-html.ts';
import { linkMount, tokenAtStart, tokenOf, type InboundMount } from './link-request.ts';
import { sendBusy, sendMessageGone, sendStoppedLink, sendUnknownLink } from './notices.ts';
import { sendHtml } from './page.ts';
import { wordsOfReader } from './page-language.ts';
import type { Words } from './words.ts';

/** A message as its reader sees it. */
interface ShownMessage {
  readonly subject: string;
  /** Undefined: it has only plain text. */
  readonly html?: string | undefined;
  readonly plain: string;
}

/** The message of one recipient, or undefined when the campaign or the person is gone. */
export type WebView = (ctx: Context, recipient: TrackedRecipient) => Promise<ShownMessage | undefined>;

export interface WebViewMeans {
  readonly webView: WebView;
  readonly disabled: DisabledCustomers;
  readonly framers: Framers;
}

/**
 * Composing a message blocks the main thread for as long as the message is large: requests for one address wait for each other.
 */
const COMPOSING = { runningMax: 2, runningPerKeyMax: 1, waitingPerKeyMax: 200 };

/**
 * In front of the token: the message itself, for the frame. In the window of a web view its links lead out of that window. In a
 * web view that is itself in a frame they open new windows: a click in it must not replace the application around it.
 */
const FRAMES = {
  'frame/': { target: '_top', may: `${LINKS_OUT} allow-top-navigation-by-user-activation` },
  'nested/': { target: '_blank', may: LINKS_OUT },
} as const;

type FramePath = keyof typeof FRAMES;

/** `/view/<token>`, and `/view/frame/<token>` or `/view/nested/<token>` for the frame in it. */
export function webViewMount(ctx: Context, { webView, disabled, framers }: WebViewMeans): InboundMount {
  const signer = linkSignerOf(ctx.installation);
  const composing = createConcurrencyLimit(COMPOSING);
  return linkMount(ctx, {
    prefix: '/view',
    methods: ['GET', 'HEAD'],
    async serve({ ctx: publicCtx, req, res }) {
      const path = tokenOf(req, '/view');
      const frame = framePathOf(path);
      const token = tokenAtStart(path.slice(frame?.length));
      const recipient = signer.read('webView', token);
      if (!recipient) return sendUnknownLink(res);
      if (disabled.has(recipient.customerId)) return sendStoppedLink(res);
      const address = publicCtx.ipAddress ?? '';
      if (composing.isFull(address)) return sendBusy(res);
      // Not composed for readers who disconnected meanwhile.
      const message = await composing.run(
        async () => (res.destroyed ? undefined : webView(publicCtx, recipient)),
        address,
      );
      if (message === undefined) return sendMessageGone(res);
      const { customerId } = recipient;
      if (frame && !(await hasMemory(res, customerId, message.html ?? message.plain))) return sendBusy(res);
      allowFraming(res, frame ? authorPolicy(FRAMES[frame].may) : PAGE_POLICY, framers);
      if (frame) return sendHtml(res, 200, await framedHtml(message, frame));
      const inner = isWindow(req) ? 'frame/' : 'nested/';
      const src = `${'../'.repeat(path.split('/').length - 1)}${inner}${token}`;
      sendHtml(res, 200, pageOf(message, { src, may: FRAMES[inner].may }, wordsOfReader(req)));
    },
  });
}

/** The frame fills the window: without a script, a page cannot know how long the message is. It scrolls by itself. */
const STYLE = `
html, body { height: 100%; margin: 0; }
body { display: flex; background: #fff; }
main { flex: 1; min-width: 0; display: flex; }
iframe { flex: 1; width: 100%; min-width: 0; border: 0; }
h1 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
const styleElement = new Html(`<style>${STYLE}</style>`);

const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; ` +
  "frame-src 'self'; form-action 'none'; base-uri 'none'";

function framePathOf(path: string): FramePath | undefined {
  if (path.startsWith('frame/')) return 'frame/';
  return path.startsWith('nested/') ? 'nested/' : undefined;
}

/** Whether a browser says that the page fills a window. Those that say nothing (old ones, or without TLS) may show it in a frame. */
function isWindow({ headers }: IncomingMessage): boolean {
  return headers['sec-fetch-dest'] === 'document';
}

function framedHtml({ html: text, plain }: ShownMessage, frame: FramePath): Promise<string> {
  return linksInto(FRAMES[frame].target, text ?? plainTextPage(plain));
}

interface Frame {
  /** Relative: there may be a path in front of ours, which differs between the installation and hosts of senders. */
  readonly src: string;
  readonly may: string;
}

function pageOf({ subject, html: text }: ShownMessage, { src, may }: Frame, words: Words): string {
  const title = subject.trim() === '' ? words.text('webView.title') : subject;
  return html`<!doctype html>
<html lang="${languageOf(text ?? '')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${styleElement}
<title>${title}</title>
</head>
<body>
<main>
<h1>${title}</h1>
<iframe sandbox="${may}" title="${title}" src="${src}"></iframe>
</main>
</body>
</html>
`.text;
}

const LANGUAGE = /<html\b[^<>]{0,2000}?\slang\s{0,9}=\s{0,9}["']?([a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3})/i;

/** That of the author's html, where it names one. */
function languageOf(text: string): string {
  return LANGUAGE.exec(text)?.[1] ?? 'en';
}
