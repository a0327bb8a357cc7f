/** The way by which drivers ask addresses of the web that stand in their settings: guarded, and bounded. */
import { postOutboundForm } from '../../lib/outbound-request.ts';
import type { DriverOptions } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';

/** Somebody waits for it: a message, or a person who tries the settings. */
const TIMEOUT_MS = 10_000;
/** The largest tokens have a tenth of it. */
const ANSWER_BYTES_MAX = 65_536;

/** What a driver is given to post forms with. */
export function formPoster({ installation }: Context): NonNullable<DriverOptions['postForm']> {
  return (url, form) =>
    postOutboundForm(url, {
      allowed: installation.outboundAllowHosts ?? [],
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
      form,
    });
}
