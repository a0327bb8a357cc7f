/** The address of a webhook: checked as far as possible when it is given, and again at each connection (decision D44). */
import { isPortAllowed, PORTS_RULE } from '../../lib/outbound-request.ts';
import { addressGuard } from '../../lib/public-address.ts';
import type { Context } from '../context.ts';
import { wrongWebhookUrl } from './webhook-errors.ts';

const ADDRESS = /^[\d.]+$|^\[/;

export interface WebhookTarget {
  readonly url: string;
  /** The web server. */
  readonly receiver: string;
}

/** Throws ValidationError `WEBHOOK_URL_REFUSED` on `url`. A name is not looked up: what it means may change. */
export async function webhookTarget({ installation }: Context, text: string): Promise<WebhookTarget> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw wrongWebhookUrl('The url must be an http or https address.');
  if (url.username !== '' || url.password !== '')
    throw wrongWebhookUrl('The url must not contain a user name or password: use a header.');
  url.hash = '';
  const allowed = installation.outboundAllowHosts ?? [];
  if (!isPortAllowed(url, { allowed })) throw wrongWebhookUrl(PORTS_RULE);
  const refusal = ADDRESS.test(url.hostname) ? await addressGuard(allowed).refusal(url.hostname) : undefined;
  if (refusal !== undefined) throw wrongWebhookUrl(refusal);
  return { url: url.href, receiver: url.origin };
}
