/**
 * The text of a signed link: a tag of 132 bits, then what it covers (version and kind, ids as varints, and for a
 * click the address it leads to). Nothing is stored, so nothing is looked up to redirect; what we did not sign does
 * not exist. One spelling only: a token that decodes but is not how we would write it is refused.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { deriveKey, mac, sameBytes, TAG_LENGTH, TagMaker } from '../../lib/crypto.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from './tracking.ts';
import { readVarints, VARINT_BYTES_MAX, writeVarint } from './varint.ts';

/** Each kind is good for one thing only: the kind is under the tag. */
export type LinkKind = keyof typeof KIND_CODES;

export interface LinkContent extends TrackedRecipient {
  /** Number of the link, or the end of a confirmation in seconds; 0 elsewhere. */
  readonly number: number;
  readonly url: string;
}

const KIND_CODES = { open: 1, click: 2, unsubscribe: 3, webView: 4, updateProfile: 5, confirm: 6 } as const;
const VERSION = 2 << 4;
/** Of links in old mails: a MAC of 16 bytes stands in front of the content, both in base64url as one. */
const FIRST_VERSION = 1 << 4;
const MAC_BYTES = 16;
const HEAD_BYTES_MAX = 1 + 5 * VARINT_BYTES_MAX;
const CONTENT_BYTES_MAX = HEAD_BYTES_MAX + LINK_URL_BYTES_MAX;
const TOKEN_LENGTH_MAX = TAG_LENGTH + Math.ceil((CONTENT_BYTES_MAX * 4) / 3);
const TOKEN_LENGTH_MIN = 28;

/** Writes and reads the links of one installation. */
export class LinkTokens {
  readonly #tags: TagMaker;
  readonly #firstKey: KeyObject;
  /** Whose ids stand in the content now: a recipient's links are made one after the other. */
  #recipient: TrackedRecipient | undefined;
  #idsEnd = 0;

  constructor(secret: string) {
    this.#tags = new TagMaker(deriveKey(secret, 'links'), CONTENT_BYTES_MAX);
    this.#firstKey = createSecretKey(deriveKey(secret, 'tracking'));
  }

  /** Signs one link. `url` is at most LINK_URL_BYTES_MAX long. */
  write(kind: LinkKind, recipient: TrackedRecipient, { number, url }: { number: number; url: string }): string {
    const { content } = this.#tags;
    if (recipient !== this.#recipient) this.#writeIds(recipient);
    content[0] = VERSION | KIND_CODES[kind];
    let end = writeVarint(content, number, this.#idsEnd);
    if (url !== '') end += content.write(url, end);
    return this.#tags.tag(end) + content.toString('base64url', 0, end);
  }

  /** Reads a token of the kind, or undefined when it is not one that we signed, to the letter. */
  read(kind: LinkKind, token: string): LinkContent | undefined {
    if (token.length < TOKEN_LENGTH_MIN || token.length > TOKEN_LENGTH_MAX) return undefined;
    const signed = this.#signed(kind, token) ?? this.#firstSigned(kind, token);
    return signed && readContent(signed);
  }

  #writeIds(recipient: TrackedRecipient): void {
    const { content } = this.#tags;
    let end = 1;
    for (const id of [recipient.customerId, recipient.listId, recipient.campaignId, recipient.subscriberId])
      end = writeVarint(content, Number(id), end);
    this.#idsEnd = end;
    this.#recipient = recipient;
  }

  #signed(kind: LinkKind, token: string): Buffer | undefined {
    const bytes = decoded(token.slice(TAG_LENGTH));
    if (bytes?.[0] !== (VERSION | KIND_CODES[kind]) || bytes.length > CONTENT_BYTES_MAX) return undefined;
    this.#recipient = undefined;
    this.#tags.content.set(bytes);
    const given = Buffer.from(token.slice(0, TAG_LENGTH));
    return sameBytes(given, Buffer.from(this.#tags.tag(bytes.length))) ? bytes : undefined;
  }

  #firstSigned(kind: LinkKind, token: string): Buffer | undefined {
    const bytes = decoded(token);
    if (bytes?.[MAC_BYTES] !== (FIRST_VERSION | KIND_CODES[kind])) return undefined;
    const signed = bytes.subarray(MAC_BYTES);
    return sameBytes(bytes.subarray(0, MAC_BYTES), mac(this.#firstKey, signed, MAC_BYTES)) ? signed : undefined;
  }
}

function decoded(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** `LinkTokens` wrote it: its tag or MAC has said so. */
function readContent(signed: Buffer): LinkContent {
  const { values, end } = readVarints(signed, 1, 5);
  const [customerId = 0, listId = 0, campaignId = 0, subscriberId = 0, number = 0] = values;
  return {
    customerId: BigInt(customerId),
    listId: BigInt(listId),
    campaignId: BigInt(campaignId),
    subscriberId: BigInt(subscriberId),
    number,
    url: signed.toString('utf8', end),
  };
}
