/**
 * The addresses of one message, which are the same for all its recipients but for a code: made once, so that only the
 * code is written into a copy.
 */
import {
  isCodable,
  targetText,
  type CodedKind,
  type LinkTarget,
  type MessageCodes,
  type MessageIds,
  type RecipientCode,
} from './link-codes.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from './tracking.ts';

/** An address, around its code. A dot behind the code belongs to it: no line of a mail should begin with one. */
export interface CodedAddress {
  readonly before: string;
  readonly code: { write(memory: Uint8Array, start: number): number };
  readonly after: string;
}

/** What has an address in a message. */
export type SharedLink = { readonly kind: Exclude<CodedKind, 'click'> } | ({ readonly kind: 'click' } & LinkTarget);

/** Whose links are shared, and where they lead to. */
interface Sharing {
  readonly baseUrl: string;
  readonly ids: MessageIds;
  readonly codes: MessageCodes;
  /** What the codes are made for: a pad serves one target only. */
  readonly targets: readonly LinkTarget[];
}

const PATHS = { unsubscribe: 'u', webView: 'view', updateProfile: 'profile' } as const;
const DOT = 0x2e;
const HTTP_URL = /^https?:\/\//i;
/** A UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;

export class SharedLinks {
  readonly #sharing: Sharing;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
  }

  /** The address of a link; undefined: it is not tracked, or has a token of its own. */
  around(link: SharedLink): CodedAddress | undefined {
    const { baseUrl, codes } = this.#sharing;
    if (link.kind === 'open') return { before: `${baseUrl}/o/`, code: withDot(codes.plain('open')), after: 'gif' };
    if (link.kind !== 'click')
      return { before: `${baseUrl}/${PATHS[link.kind]}/`, code: codes.plain(link.kind), after: '' };
    const isKnown = this.#sharing.targets.some(({ no, url }) => no === link.no && url === link.url);
    if (!isKnown || !isCodable(link) || !isTrackable(link.url)) return undefined;
    return { before: `${baseUrl}/c/`, code: withDot(codes.click(link)), after: targetText(link) };
  }

  /** Whether they are those of this recipient's message, too. */
  areOf(recipient: TrackedRecipient, baseUrl: string): boolean {
    const { ids, baseUrl: own } = this.#sharing;
    return (
      recipient.campaignId === ids.campaignId &&
      recipient.listId === ids.listId &&
      recipient.customerId === ids.customerId &&
      baseUrl === own
    );
  }

  /** The codes are this recipient's from now on. */
  begin({ subscriberId }: TrackedRecipient): void {
    this.#sharing.codes.begin(subscriberId);
  }
}

function withDot(code: RecipientCode): CodedAddress['code'] {
  return {
    write(memory, start) {
      const end = code.write(memory, start);
      memory[end] = DOT;
      return end + 1;
    },
  };
}

/** It leads to the web, and fits into a link. */
export function isTrackable(url: string): boolean {
  if (!HTTP_URL.test(url)) return false;
  return url.length * BYTES_PER_UNIT_MAX <= LINK_URL_BYTES_MAX || Buffer.byteLength(url) <= LINK_URL_BYTES_MAX;
}
