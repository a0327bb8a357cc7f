/** How drivers call web addresses in their settings: guarded and limited. */
import { postOutboundForm } from '../../lib/outbound-request.ts';
import type { DriverOptions } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';

/** A message, or a person who tests the settings, waits for it. */
const TIMEOUT_MS = 10_000;
/** The largest tokens need a tenth of it. */
const ANSWER_BYTES_MAX = 65_536;

/** The function with which a driver posts forms. */
export function formPoster({ installation }: Context): NonNullable<DriverOptions['postForm']> {
  return (url, form) =>
    postOutboundForm(url, {
      allowed: installation.outboundAllowHosts ?? [],
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
      form,
    });
}
