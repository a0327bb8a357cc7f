/**
 * The addresses of one message, which are the same for all its recipients except for a token: made once, so that only the token
 * is written into a copy.
 */
import { sha256 } from '../../lib/crypto.ts';
import type { LinkKeys, LinkTarget, TokenKind } from './link-keys.ts';
import { BOUNCE_PREFIX } from './return-path.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from './tracking.ts';

/**
 * An address in two parts around its token. A dot after the token belongs to the second: no line of a mail should begin with one.
 */
export interface CodedAddress {
  readonly before: string;
  readonly code: { write(memory: Buffer, start: number): number };
  readonly after: string;
}

/** The kinds of links in a message. */
export type SharedLink =
  | { readonly kind: Exclude<TokenKind, 'click'> | 'unsubscribeMail' }
  | ({ readonly kind: 'click' } & LinkTarget);

/** The recipient of the present copy. */
interface TokenHolder {
  readonly recipient: TrackedRecipient;
  readonly baseUrl: string;
  readonly bounceDomain: string;
  token(kind: TokenKind): string;
  unsubscribeMark(): string;
}

const PATHS = { unsubscribe: 'u', webView: 'view', updateProfile: 'profile' } as const;
const DOT = 0x2e;
const HTTP_URL = /^https?:\/\//i;
/** A UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;
/** Three bytes, as in links. */
const EDITION_BITS = 21;

export class SharedLinks {
  /** Distinguishes messages of a source whose links were edited in between. */
  readonly edition: number;
  readonly #keys: LinkKeys;
  #links: TokenHolder;

  constructor(keys: LinkKeys, targets: readonly LinkTarget[], links: TokenHolder) {
    this.#keys = keys;
    this.#links = links;
    const text = JSON.stringify(targets.map(({ no, url }) => [no, url]));
    this.edition = sha256(text).readUInt32BE() >>> (32 - EDITION_BITS);
  }

  /** The address of a link; undefined: it is not tracked, or there is none. */
  around(link: SharedLink): CodedAddress | undefined {
    const { baseUrl, bounceDomain, recipient } = this.#links;
    if (link.kind === 'unsubscribeMail') {
      if (bounceDomain === '') return undefined;
      const write: CodedAddress['code']['write'] = (memory, start) =>
        start + memory.write(this.#links.unsubscribeMark(), start, 'latin1');
      return { before: BOUNCE_PREFIX, code: { write }, after: `@${bounceDomain}` };
    }
    if (link.kind === 'open') return { before: `${baseUrl}/o/`, code: this.#withDot('open'), after: 'gif' };
    if (link.kind !== 'click') {
      const { kind } = link;
      const write: CodedAddress['code']['write'] = (memory, start) => start + this.#write(kind, memory, start);
      return { before: `${baseUrl}/${PATHS[kind]}/`, code: { write }, after: '' };
    }
    if (!isTrackable(link.url)) return undefined;
    const after = this.#keys.sharedCode({ ...recipient, number: this.edition }, link);
    return { before: `${baseUrl}/c/`, code: this.#withDot('click'), after };
  }

  /** Whether they also fit this recipient's message. */
  areOf({ recipient, baseUrl, bounceDomain }: TokenHolder): boolean {
    const own = this.#links;
    return (
      recipient.sourceId === own.recipient.sourceId &&
      recipient.sourceKind === own.recipient.sourceKind &&
      recipient.customerId === own.recipient.customerId &&
      baseUrl === own.baseUrl &&
      bounceDomain === own.bounceDomain
    );
  }

  /** The tokens are this recipient's from now on. */
  begin(links: TokenHolder): void {
    this.#links = links;
  }

  #withDot(kind: TokenKind): CodedAddress['code'] {
    return {
      write: (memory, start) => {
        const end = start + this.#write(kind, memory, start);
        memory[end] = DOT;
        return end + 1;
      },
    };
  }

  #write(kind: TokenKind, memory: Buffer, start: number): number {
    return memory.write(this.#links.token(kind), start, 'latin1');
  }
}

/** It is a web address, and short enough for a link. */
export function isTrackable(url: string): boolean {
  if (!HTTP_URL.test(url)) return false;
  return url.length * BYTES_PER_UNIT_MAX <= LINK_URL_BYTES_MAX || Buffer.byteLength(url) <= LINK_URL_BYTES_MAX;
}
