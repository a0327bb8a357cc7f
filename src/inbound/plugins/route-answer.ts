/** Writes the answer of a plugin's route: data that is checked, with headers of ours. */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { namesHost } from '../../lib/host-rule.ts';
import { flashCookie, FLASH_LENGTH_MAX } from '../flash.ts';
import { fileUrlOf, INERT_POLICY } from './plugin-files.ts';
import type { PluginRequest } from './plugin-request.ts';

const ANSWER_BYTES_MAX = 5 * 1024 * 1024;
const FILE_NAME_LENGTH_MAX = 100;
/** Vendors put what they need to know into the addresses of their checkouts. */
const REDIRECT_LENGTH_MAX = 8_000;

const text = z.string();
/** A path of this installation: a browser must not take it for another host. */
const ownPath = z.string().regex(/^\/(?![/\\])[\x21-\x7e]{0,2000}$/);

const answerShape = z
  .strictObject({
    status: z.int().min(200).max(599).optional(),
    html: text.optional(),
    text: text.optional(),
    json: z.unknown().optional(),
    bytes: z.instanceof(Uint8Array).optional(),
    contentType: z
      .string()
      .regex(/^[a-z]+\/[a-z0-9.+-]{1,80}$/)
      .optional(),
    fileName: z
      .string()
      .max(FILE_NAME_LENGTH_MAX)
      .regex(/^[\w][\w. -]*$/)
      .optional(),
    redirect: ownPath.optional(),
    error: z.string().min(1).max(FLASH_LENGTH_MAX).optional(),
    redirectTo: z.string().max(REDIRECT_LENGTH_MAX).refine(URL.canParse, 'must be an address').optional(),
    usesOwnScripts: z.boolean().optional(),
  })
  .refine(
    ({ html, text: plain, json, bytes, redirect, redirectTo }) =>
      [html, plain, json, bytes, redirect, redirectTo].filter((one) => one !== undefined).length <= 1,
    'It must have one of "html", "text", "json", "bytes", "redirect" and "redirectTo".',
  )
  .refine(({ error, redirect }) => error === undefined || redirect !== undefined, '"error" needs "redirect".');

/** As it is written: made and checked within the plugin's time. */
export interface PreparedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Throws when the plugin has answered something else. */
export function preparedAnswer(answered: unknown, request: PluginRequest): PreparedAnswer {
  const answer = answerShape.parse(answered);
  const { fileName, redirect, error } = answer;
  const location = redirect ?? foreignAddress(answer.redirectTo, request);
  const { status = location === undefined ? 200 : 303 } = answer;
  const { type, body, policy } = bodyOf(answer, request);
  if (body.length > ANSWER_BYTES_MAX) throw new Error(`Its answer has more than ${ANSWER_BYTES_MAX} bytes.`);
  const headers = {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy,
    'X-Robots-Tag': 'noindex, nofollow',
    ...(type === undefined ? {} : { 'Content-Type': type }),
    ...(fileName === undefined ? {} : { 'Content-Disposition': `attachment; filename="${fileName}"` }),
    ...(location === undefined ? {} : { Location: location }),
    ...(redirect === undefined || error === undefined ? {} : { 'Set-Cookie': keptError(request, redirect, error) }),
  };
  return { status, headers, body };
}

/** Throws unless the plugin may send browsers there. `localhost`, which only an operator's own tests have, needs no https. */
function foreignAddress(address: string | undefined, { plugin }: PluginRequest): string | undefined {
  if (address === undefined) return undefined;
  const url = new URL(address);
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && url.hostname === 'localhost');
  if (!isSafe || url.username !== '' || !namesHost(plugin.browserHosts, url))
    throw new Error(
      `It may not send a browser to ${url.protocol}//${url.host}: its manifest does not name it in "browserHosts".`,
    );
  return url.href;
}

function keptError({ ctx }: PluginRequest, redirect: string, error: string): string {
  const [path = ''] = redirect.split('?', 1);
  return flashCookie(ctx.installation, path, error);
}

export function writeAnswer(res: ServerResponse, { status, headers, body }: PreparedAnswer): void {
  res.writeHead(status, { ...headers, 'Content-Length': body.length });
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

function bodyOf(answer: z.output<typeof answerShape>, request: PluginRequest) {
  const { html, text: plain, json, bytes, contentType } = answer;
  if (html !== undefined)
    return { type: 'text/html; charset=utf-8', body: Buffer.from(html), policy: pagePolicy(answer, request) };
  if (plain !== undefined) return { type: 'text/plain; charset=utf-8', body: Buffer.from(plain), policy: INERT_POLICY };
  if (json !== undefined)
    return { type: 'application/json; charset=utf-8', body: Buffer.from(JSON.stringify(json)), policy: INERT_POLICY };
  const body = bytes ? new Uint8Array(bytes) : new Uint8Array();
  return { type: bytes && (contentType ?? 'application/octet-stream'), body, policy: INERT_POLICY };
}

/** Nothing from elsewhere; no scripts, unless the plugin's own files. */
function pagePolicy({ usesOwnScripts }: { usesOwnScripts?: boolean | undefined }, request: PluginRequest): string {
  const { ctx, base, plugin } = request;
  const [files = ''] = new URL(fileUrlOf(base, plugin, ''), ctx.installation.baseUrl).href.split('?');
  const scripts = usesOwnScripts ? `; script-src ${files}; connect-src 'self'` : '';
  return `default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'${scripts}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
}
