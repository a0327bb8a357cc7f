/**
 * How links are signed and read. docs/signed-links.md explains it for an auditor; test/domain/tracking/signed-links.test.ts
 * checks that page by making the same links with only the runtime's HMAC and AES.
 */
import { createBlockCipher, createMac, deriveKey, sameBytes, type BlockCipher, type Mac } from '../../lib/crypto.ts';
import { assert } from '../../lib/errors.ts';
import { formatByteOf, sourceKindOf } from './format-byte.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from './tracking.ts';
import { readVarints, VARINT_BYTES_MAX, writeVarints } from './varint.ts';

/** The kinds of tokens. */
export type TokenKind = keyof typeof TAG_STARTS;

/** The target of a link, and its number in the message. */
export interface LinkTarget {
  readonly no: number;
  readonly url: string;
}

/** The content of a token. */
export interface SignedIds extends TrackedRecipient {
  /** The edition of the message, or, in a confirmation, the second at which it expires. */
  readonly number: number;
}

/** The position of each kind's tag in the 64 bytes of the HMAC: a kind is accepted by its own tag only. */
const TAG_STARTS = { open: 0, click: 0, unsubscribe: 16, updateProfile: 32, webView: 48 } as const;
const TAG_BYTES = 16;
const BLOCK_BYTES = 16;
/**
 * Ids of nearly all installations need one block; two hold ids below 2^49 (2^35 with an occurrence) and make the longest token of
 * a mail.
 */
const BLOCKS_IN_MAILS_MAX = 2;
const BLOCKS_MAX = 3;
/** 96 bits, which are 16 letters: a code can be guessed online only, one try per request. */
const CODE_MAC_BYTES = 12;
const CODE_MAC_LENGTH = 16;
/** For everybody with the message, or for one recipient: the address contains this recipient's values. */
const CODE_KINDS = { shared: 1, own: 2 } as const;
/** Kind, number and address. */
const TARGET_BYTES_MAX = 1 + VARINT_BYTES_MAX + LINK_URL_BYTES_MAX;
const CODE_LENGTH_MAX = CODE_MAC_LENGTH + Math.ceil((TARGET_BYTES_MAX * 4) / 3);
/** Format byte, edition, customer, source, recipient. */
const CODE_IDS_BYTES_MAX = 1 + 4 * VARINT_BYTES_MAX;

// Filled and used within one call, so one of each is enough for the process.
const blocks = Buffer.alloc(BLOCKS_MAX * BLOCK_BYTES);
/** A UTF-16 unit is at most three bytes: invented content is written, too, before it is refused. */
const content = Buffer.alloc(CODE_IDS_BYTES_MAX + TARGET_BYTES_MAX + 2 * LINK_URL_BYTES_MAX);

/** The keys of one installation's links. */
export class LinkKeys {
  readonly #ids: BlockCipher;
  readonly #tags: Mac;
  readonly #codes: Mac;
  readonly #confirmations: Mac;

  constructor(secret: string) {
    this.#ids = createBlockCipher(deriveKey(secret, 'link-ids'));
    this.#tags = createMac('sha512', deriveKey(secret, 'link-tags'));
    this.#codes = createMac('sha256', deriveKey(secret, 'link-codes'));
    this.#confirmations = createMac('sha256', deriveKey(secret, 'link-confirmations'));
  }

  /** The tokens of one message to one recipient. */
  tokens(recipient: TrackedRecipient, edition: number): MessageTokens {
    const plain = blocksOf(recipient, edition);
    assert(plain.length <= BLOCKS_IN_MAILS_MAX * BLOCK_BYTES, 'ids in links are below 2^49');
    return new MessageTokens(this.#ids.encrypt(plain), this.#tags(plain, 'binary'));
  }

  /** The content of a token of this kind, or undefined when it is not exactly one of ours. */
  read(kind: TokenKind, token: string): SignedIds | undefined {
    const start = TAG_STARTS[kind];
    return this.#read(token, (plain) => this.#tags(plain, 'binary').slice(start, start + TAG_BYTES));
  }

  /** The token of a confirmation until the second `expiresAt`. */
  confirmation(recipient: TrackedRecipient, expiresAt: number): string {
    const plain = blocksOf(recipient, expiresAt);
    return encode(this.#ids.encrypt(plain) + this.#confirmationTag(plain));
  }

  readConfirmation(token: string): SignedIds | undefined {
    return this.#read(token, (plain) => this.#confirmationTag(plain));
  }

  /** The code of a link with the same target for all recipients of this edition. */
  sharedCode(ids: Omit<SignedIds, 'recipientId'>, target: LinkTarget): string {
    return this.#code({ ...ids, recipientId: 0n }, CODE_KINDS.shared, target);
  }

  /** The code of a link with this recipient's own target. */
  ownCode(ids: SignedIds, target: LinkTarget): string {
    return this.#code(ids, CODE_KINDS.own, target);
  }

  /** The target of a code with a token of these ids; undefined when it is not exactly ours. */
  readCode(ids: SignedIds, code: string): LinkTarget | undefined {
    if (code.length > CODE_LENGTH_MAX) return undefined;
    const bytes = Buffer.from(code, 'base64url').subarray(CODE_MAC_BYTES);
    const { values, end } = readVarints(bytes, 1, 1);
    const target = { no: values[0] ?? 0, url: bytes.toString('utf8', end) };
    if (!Number.isSafeInteger(target.no) || target.url.length > LINK_URL_BYTES_MAX) return undefined;
    const made = bytes[0] === CODE_KINDS.own ? this.ownCode(ids, target) : this.sharedCode(ids, target);
    return sameBytes(Buffer.from(made), Buffer.from(code)) ? target : undefined;
  }

  /** It contains kind, number and address; the MAC before them also covers the message and its edition. */
  #code(ids: Omit<SignedIds, 'listId' | 'occurrence'>, kind: number, { no, url }: LinkTarget): string {
    content[0] = formatByteOf(ids.sourceKind);
    const start = writeVarints(content, [ids.number, ids.customerId, ids.sourceId, ids.recipientId], 1);
    content[start] = kind;
    let end = writeVarints(content, [no], start + 1);
    end += content.write(url, end);
    const tag = this.#codes(content.subarray(0, end), 'base64url').slice(0, CODE_MAC_LENGTH);
    return tag + content.toString('base64url', start, end);
  }

  #confirmationTag(plain: Buffer): string {
    return this.#confirmations(plain, 'binary').slice(0, TAG_BYTES);
  }

  #read(token: string, tagOf: (plain: Buffer) => string): SignedIds | undefined {
    const bytes = Buffer.from(token, 'base64url');
    const idBytes = bytes.length - TAG_BYTES;
    if (idBytes <= 0 || idBytes > blocks.length || idBytes % BLOCK_BYTES !== 0) return undefined;
    // One spelling only: base64 leaves bits of the last letter unused.
    if (bytes.toString('base64url') !== token) return undefined;
    const plain = this.#ids.decrypt(bytes.subarray(0, idBytes));
    if (!sameBytes(bytes.subarray(idBytes), Buffer.from(tagOf(plain), 'latin1'))) return undefined;
    const sourceKind = sourceKindOf(plain[0]);
    if (sourceKind === undefined) return undefined;
    const [number = 0, ...ids] = readVarints(plain, 1, 6).values;
    const [customerId = 0n, sourceId = 0n, listId = 0n, recipientId = 0n, occurrence = 0n] = ids.map(BigInt);
    return { customerId, sourceKind, sourceId, listId, recipientId, occurrence, number };
  }
}

/** The tokens of one message to one recipient: the same ids, and a tag for each kind. */
export class MessageTokens {
  readonly #ids: string;
  readonly #tags: string;
  /** By kind, once made. */
  readonly #texts: { [Kind in TokenKind]?: string } = {};

  /** One character per byte. */
  constructor(ids: string, tags: string) {
    this.#ids = ids;
    this.#tags = tags;
  }

  of(kind: TokenKind): string {
    const start = TAG_STARTS[kind];
    return (this.#texts[kind] ??= encode(this.#ids + this.#tags.slice(start, start + TAG_BYTES)));
  }
}

/** The ids of a token, in whole blocks. */
function blocksOf(recipient: TrackedRecipient, number: number): Buffer {
  const { customerId, sourceKind, sourceId, listId, recipientId, occurrence } = recipient;
  blocks.fill(0);
  blocks[0] = formatByteOf(sourceKind);
  let end = writeVarints(blocks, [number, customerId, sourceId, listId, recipientId], 1);
  if (occurrence > 0n) end = writeVarints(blocks, [occurrence], end);
  return blocks.subarray(0, BLOCK_BYTES * Math.ceil(end / BLOCK_BYTES));
}

function encode(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('base64url');
}
