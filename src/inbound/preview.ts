/**
 * A campaign's preview as a page, for a frame of our own pages and those of `CORS_ORIGINS`. The html is the customer's: the page
 * has no script, no form and no origin, and its links open new windows.
 */
import type { ServerResponse } from 'node:http';
import type { Context } from '../domain/context.ts';
import type { Html } from '../lib/html.ts';
import { html } from '../lib/html.ts';
import { answerMemoryOf } from '../lib/large-answers.ts';
import { RateLimitedError, NotFoundError, ValidationError, WrongStateError } from '../lib/errors.ts';
import { allowFraming, authorPolicy, LINKS_OUT, linksInto, plainTextPage, type Framers } from './author-html.ts';
import { linkMount, type InboundMount } from './link-request.ts';
import { sendHtml } from './page.ts';
import { wordsOfReader } from './page-language.ts';

/** What an address shows; throws what a preview throws. */
export type ReadPreview = (ctx: Context, token: string) => Promise<PreviewPage>;

type PreviewPage =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'expired' }
  | {
      readonly kind: 'message';
      readonly customerId: bigint;
      readonly preview: { readonly html: string | null; readonly plain: string };
    };

const CAGE = authorPolicy(LINKS_OUT);
/** For notices. */
const NOTHING = "sandbox; default-src 'none'";

/** `/preview/<token>`. */
export function previewMount(
  ctx: Context,
  { preview: read, framers }: { readonly preview: ReadPreview; readonly framers: Framers },
): InboundMount {
  return linkMount(ctx, {
    prefix: '/preview',
    methods: ['GET', 'HEAD'],
    async serve({ ctx: publicCtx, req, res, token }) {
      const notice = (status: number, text: string | Html) => sendNotice(res, framers, { status, text });
      try {
        const page = await read(publicCtx, token);
        if (page.kind === 'unknown') return notice(404, wordsOfReader(req).text('preview.unknown'));
        if (page.kind === 'expired') return notice(410, wordsOfReader(req).text('preview.expired'));
        const { html: text, plain } = page.preview;
        await answerMemoryOf(res).take(page.customerId, Buffer.byteLength(text ?? plain));
        allowFraming(res, CAGE, framers);
        sendHtml(res, 200, await linksInto('_blank', text ?? plainTextPage(plain)));
      } catch (error) {
        const status = statusOf(error);
        if (status === undefined || !(error instanceof Error)) throw error;
        if (error instanceof RateLimitedError) res.setHeader('Retry-After', String(error.retryAfterSeconds));
        notice(status, error.message);
      }
    },
  });
}

/** Undefined: not expected. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof ValidationError) return 422;
  if (error instanceof NotFoundError) return 404;
  if (error instanceof WrongStateError) return 409;
  return error instanceof RateLimitedError ? 429 : undefined;
}

function sendNotice(
  res: ServerResponse,
  framers: Framers,
  { status, text }: { readonly status: number; readonly text: string | Html },
): void {
  allowFraming(res, NOTHING, framers);
  const words = wordsOfReader(res.req);
  const page = html`<!doctype html>
<html lang="${words.language}" dir="${words.direction}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${words.text('preview.title')}</title></head>
<body><main><h1>${words.text('preview.title')}</h1><p>${text}</p></main></body>
</html>
`;
  sendHtml(res, status, page.text);
}
