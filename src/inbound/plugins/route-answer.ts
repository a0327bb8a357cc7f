/** Writes the answer of a plugin's route: data that is checked, with headers of ours. */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { fileUrlOf, INERT_POLICY } from './plugin-files.ts';
import type { PluginRequest } from './plugin-request.ts';

const ANSWER_BYTES_MAX = 5 * 1024 * 1024;
const FILE_NAME_LENGTH_MAX = 100;

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
    usesOwnScripts: z.boolean().optional(),
  })
  .refine(
    ({ html, text: plain, json, bytes, redirect }) =>
      [html, plain, json, bytes, redirect].filter((one) => one !== undefined).length <= 1,
    'It must have one of "html", "text", "json", "bytes" and "redirect".',
  );

/** As it is written: made and checked within the plugin's time. */
export interface PreparedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Throws when the plugin has answered something else. */
export function preparedAnswer(answered: unknown, request: PluginRequest): PreparedAnswer {
  const answer = answerShape.parse(answered);
  const { status = answer.redirect === undefined ? 200 : 303, fileName, redirect } = answer;
  const { type, body, policy } = bodyOf(answer, request);
  if (body.length > ANSWER_BYTES_MAX) throw new Error(`Its answer has more than ${ANSWER_BYTES_MAX} bytes.`);
  const headers = {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy,
    'X-Robots-Tag': 'noindex, nofollow',
    ...(type === undefined ? {} : { 'Content-Type': type }),
    ...(fileName === undefined ? {} : { 'Content-Disposition': `attachment; filename="${fileName}"` }),
    ...(redirect === undefined ? {} : { Location: redirect }),
  };
  return { status, headers, body };
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
