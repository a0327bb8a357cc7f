/**
 * The noun: a request of a vendor to `/webhook/{type}/{uid}` that was genuine, kept as it came. This file says what of a request is
 * kept: never a credential.
 */
import { formsOfKey } from '../../lib/hide-secrets.ts';
import { emailKey } from '../../lib/text.ts';
import type { WebhookRequest } from '../../plugin-api/index.ts';

/** Vendors repeat what failed for at most three days; the rest is for people who look for the reason. */
export const REQUEST_DAYS_KEPT = 7;
/** Of one server: a vendor that reports a hundred million events in a week must not fill the disk. The oldest are deleted first. */
export const SERVER_BYTES_KEPT_MAX = 2_147_483_648;

/** Stands for what is not kept. */
export const HIDDEN = '(hidden)';
const CREDENTIALS = new Set(['authorization', 'proxy-authorization', 'cookie']);
/** About the connection, and not about what the vendor reports. */
const UNIMPORTANT =
  /^(?:host|connection|keep-alive|accept(?:-.*)?|content-length|transfer-encoding|te|expect|via|forwarded|x-forwarded-.*|x-real-ip|cf-.*|cdn-loop)$/;
const FAULT_LENGTH_MAX = 1_000;
/** A shorter setting stands in other texts by chance. */
const SECRET_LENGTH_MIN = 6;

export interface KeptRequest {
  readonly request: WebhookRequest;
  readonly eventCount: number;
  /** Why its events could not be read. */
  readonly fault: string | null;
  /** Whom it names. */
  readonly addresses: readonly string[];
}

/** A request as it is kept. `secrets`: of the server's settings. */
export function keptRequest(
  { headers, query, ...request }: WebhookRequest,
  { secrets, eventCount, fault }: Pick<KeptRequest, 'eventCount' | 'fault'> & { readonly secrets: readonly string[] },
): KeptRequest {
  const important = Object.entries(headers).filter(([name]) => !UNIMPORTANT.test(name));
  return {
    request: {
      ...request,
      query: withoutSecrets(query, secrets),
      headers: withoutSecrets(
        Object.fromEntries(important.map(([name, value]) => [name, CREDENTIALS.has(name) ? HIDDEN : value])),
        secrets,
      ),
    },
    eventCount,
    fault: keptFault(fault, secrets),
    addresses: addressesIn([Buffer.from(request.body).toString('utf8'), ...Object.values(query)]),
  };
}

type Texts = Readonly<Record<string, string>>;

function withoutSecrets(values: Texts, secrets: readonly string[]): Texts {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, hideSecrets(value, secrets)]));
}

/** The text without these secrets, also as addresses, JSON and base64 write them. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  // The longest first: one may be the beginning of another.
  return secrets
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    .flatMap(formsOfKey)
    .toSorted((one, other) => other.length - one.length)
    .reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
}

/** Why the events could not be read, as it is kept: drivers repeat what they did not understand. */
export function keptFault(fault: string | null, secrets: readonly string[]): string | null {
  return fault && hideSecrets(fault, secrets).replaceAll('\0', '').slice(0, FAULT_LENGTH_MAX);
}

/** What may not stand in an address without quotes. */
const DELIMITER = /[\s"<>()[\]\\,;:&@]/;
/** What may, but mostly stands before one. */
const BEFORE = /['=/?{|]/;
const LOCAL_PART_MAX = 64;
const DOMAIN_MAX = 255;

/** All addresses in texts, as their keys: also in JSON within JSON, and as links encode them. */
function addressesIn(texts: readonly string[]): string[] {
  const found = new Set<string>();
  for (const encoded of texts) {
    // The database's JSON takes no NUL.
    const text = encoded
      .replaceAll('\0', ' ')
      .replaceAll('%40', '@')
      .replaceAll(String.raw`\u0040`, '@');
    for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
      let [from, to] = [at, at + 1];
      while (from > 0 && at - from < LOCAL_PART_MAX && !DELIMITER.test(text.charAt(from - 1))) from--;
      while (to < text.length && to - at <= DOMAIN_MAX && !DELIMITER.test(text.charAt(to))) to++;
      const [local, domain] = [
        text.slice(from, at),
        text
          .slice(at + 1, to)
          .split(/['/?#|}]/, 1)[0]
          ?.replace(/\.$/, '') ?? '',
      ];
      if (domain === '') continue;
      for (const part of [local, local.split(BEFORE).at(-1) ?? ''])
        // Nor half of a character, at which the longest name may begin.
        if (part !== '') found.add(emailKey(`${part}@${domain}`.toWellFormed()));
    }
  }
  return [...found];
}

/** The digest of an address and its place in the index. */
const ADDRESS_BYTES = 32;

/** Its memory, and what it takes in the database, roughly. */
export function bytesOf({ request: { body, headers, query }, addresses }: KeptRequest): number {
  return body.byteLength + JSON.stringify({ headers, query }).length + addresses.length * ADDRESS_BYTES;
}
