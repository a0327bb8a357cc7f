/** Calls of plugins to other servers: only to hosts that the manifest names, and through the guard of all outbound requests. */
import { z } from 'zod';
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts';
import { messageOf } from '../lib/errors.ts';
import { namesHost } from '../lib/host-rule.ts';
import { callOutbound } from '../lib/outbound-request.ts';
import type { FetchAnswer, PluginFetch } from '../plugin-api/index.ts';
import type { ServiceOwner } from './service-owner.ts';

const BYTES_MAX = 5 * 1_048_576;
const TIMEOUT_MS = 15_000;
const TIMEOUT_MS_MAX = 60_000;
const HEADERS_MAX = 50;
const HEADER_LENGTH_MAX = 8_192;
/** Of one plugin in this process at the same time. */
const RUNNING_MAX = 8;
const WAITING_MAX = 100;

/** Headers that say how the request is sent: they belong to the sender. */
const OURS = /^(?:host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive|proxy-.*)$/i;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

const optionsShape = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  headers: z
    .record(
      z
        .string()
        .regex(HEADER_NAME)
        .refine((name) => !OURS.test(name)),
      z
        .string()
        .max(HEADER_LENGTH_MAX)
        .regex(/^[\t\x20-\x7e\x80-\xff]*$/),
    )
    .refine((headers) => Object.keys(headers).length <= HEADERS_MAX)
    .default({}),
  body: z
    .union([z.string(), z.instanceof(Uint8Array)])
    .transform((body) => Buffer.from(body))
    .refine((body) => body.length <= BYTES_MAX)
    .optional(),
  timeoutMs: z.number().positive().max(TIMEOUT_MS_MAX).default(TIMEOUT_MS),
});

export function pluginFetch({ plugin, rights, use }: ServiceOwner): PluginFetch {
  const limit = createConcurrencyLimit({
    ...{ runningMax: RUNNING_MAX, waitingPerKeyMax: WAITING_MAX },
    refuse: () =>
      new Error(`Too many calls of the plugin "${plugin}" are waiting. Wait for some of them before you call more.`),
  });
  return async (url, options = {}) => {
    const { installation } = use();
    const { success, data, error } = optionsShape.safeParse(options);
    if (!success) throw new Error(`The option "${error.issues[0]?.path.join('.') ?? ''}" of fetch is not valid.`);
    const { host, port } = granted(url, { plugin, hosts: rights.hosts });
    const call = { ...data, content: data.body, allowed: installation.outboundAllowHosts ?? [], bytesMax: BYTES_MAX };
    const answer = await limit.run(() =>
      callOutbound(url, { ...call, ports: port === undefined ? [] : [port] }).catch((fault: unknown) => {
        throw new Error(`The call to ${host} failed: ${messageOf(fault)}`, { cause: fault });
      }),
    );
    return answerOf(answer);
  };
}

/** The host and the port, if it is named in the manifest. Throws a sentence. */
function granted(
  url: string,
  { plugin, hosts }: { readonly plugin: string; readonly hosts: readonly string[] },
): { readonly host: string; readonly port: string | undefined } {
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new Error('The first argument of fetch must be an http or https address.');
  const parsed = new URL(url);
  const { hostname } = parsed;
  // `new URL` drops the usual port of the scheme; a plugin may write the other scheme's.
  const { port } = parsed;
  // A name may end with a dot, which means the same host.
  const host = hostname.replace(/\.$/, '');
  if (!namesHost(hosts, parsed))
    throw new Error(
      `The plugin "${plugin}" may not call ${port === '' ? host : `${host}:${port}`}: its manifest does not name it in "hosts".`,
    );
  return { host, port: port === '' ? undefined : port };
}

function answerOf({
  status,
  headers,
  content,
}: {
  status: number;
  headers: FetchAnswer['headers'];
  content: Buffer;
}): FetchAnswer {
  const text = () => content.toString('utf8');
  return { status, headers, body: content, text, json: () => JSON.parse(text()) };
}
