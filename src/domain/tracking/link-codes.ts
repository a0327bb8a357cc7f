/**
 * Links that are the same for everybody but for a code: `/c/<code>.<target>`, `/u/<code>`. The code is a tag of 132 bits
 * and whose link it is; one digest gives the tags of eight links (docs/decisions/0190). As with tokens nothing is
 * stored, what we did not sign does not exist, and there is one spelling only.
 */
import { deriveKey, eightTags, mac, sameBytes, TAG_LENGTH, TagMaker, TAGS_AT_ONCE } from '../../lib/crypto.ts';
import { assert } from '../../lib/errors.ts';
import type { LinkContent, LinkKind } from './link-token.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from './tracking.ts';
import { readVarints, VARINT_BYTES_MAX, writeVarint } from './varint.ts';

/** Whose message it is. */
export type MessageIds = Omit<TrackedRecipient, 'subscriberId'>;

/** A link of a message that leads to the same place for everybody. */
export interface LinkTarget {
  readonly no: number;
  readonly url: string;
}

/** Kinds of link that have a code. */
export type CodedKind = Exclude<LinkKind, 'confirm'>;

/** It fits into a line of quoted-printable, with a dot behind it. */
const CODE_LENGTH_MAX = 74;

/** As the first byte of what is written in a code, and of what a target's mask is made of. */
const VERSION = 3 << 4;
const MASKED = VERSION | 1;
const EDITION_BYTES = 4;
const EDITION_MAX = 2 ** 32 - 1;
/** Version, edition, and four ids. */
const IDS_BYTES_MAX = 1 + 5 + 4 * VARINT_BYTES_MAX;
const TARGET_BYTES_MAX = IDS_BYTES_MAX + VARINT_BYTES_MAX + LINK_URL_BYTES_MAX;
const TOKEN_LENGTH_MAX = CODE_LENGTH_MAX + Math.ceil((TARGET_BYTES_MAX * 4) / 3);
/** A message may have 1,000; links beyond have a token of their own. A code with a large number must not cost a large memory. */
const LINK_NO_MAX = 1_023;
/** Behind the ids a pad is made of: the subscriber in eight bytes, the group in two. */
const PAD_TAIL_BYTES = 10;
const KEY_BYTES = 32;
/** Letters of the pads that one digest makes. */
const GROUP_LENGTH = TAGS_AT_ONCE * TAG_LENGTH;

/** Two of the eight pads of a digest are for what is no click. */
const PLAIN_PLACES = {
  open: { group: 0, lane: 0 },
  unsubscribe: { group: 0, lane: 1 },
  webView: { group: 1, lane: 0 },
  updateProfile: { group: 1, lane: 1 },
} as const;
const PLAIN_LANES = 2;
const CLICK_LANES = TAGS_AT_ONCE - PLAIN_LANES;

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', 'latin1');
/** What each letter of the alphabet stands for. */
const VALUES = new Uint8Array(128);
for (const [value, letter] of ALPHABET.entries()) VALUES[letter] = value;
const valueOf = (letter = 0): number => VALUES[letter] ?? 0;
const letterOf = (value: number): number => ALPHABET[value] ?? 0;
const NOWHERE: LinkTarget = { no: 0, url: '' };
/** With 30 KB at most each, where a message has a thousand links. */
const KNOWN_MAX = 256;
const NO_MASK = new Uint8Array(TAG_LENGTH);

/** A link of one message, of whoever its codes are. */
interface KnownLink {
  readonly codes: MessageCodes;
  readonly code: RecipientCode;
  readonly target: LinkTarget;
}

/** Makes and checks the codes of one installation. */
export class LinkCodes {
  readonly #padKey: Buffer;
  readonly #editionKey: Buffer;
  readonly #targets: TagMaker;
  /** Links that were followed lately: reading one again costs one digest. */
  readonly #known = new Map<string, KnownLink>();

  constructor(secret: string) {
    this.#padKey = deriveKey(secret, 'link-pads');
    this.#editionKey = deriveKey(secret, 'link-editions');
    this.#targets = new TagMaker(deriveKey(secret, 'link-targets'), TARGET_BYTES_MAX);
  }

  /** The codes of a message with these links. */
  ofMessage(ids: MessageIds, targets: readonly LinkTarget[]): MessageCodes {
    const text = JSON.stringify(targets.map(({ no, url }) => [no, url]));
    const edition = mac(this.#editionKey, text, EDITION_BYTES).readUInt32BE();
    return this.#ofEdition(ids, edition);
  }

  /** What the token of this kind says, or undefined when it is not one that we made, to the letter. */
  read(kind: CodedKind, token: string): LinkContent | undefined {
    const codeEnd = kind === 'click' ? token.indexOf('.') : token.length;
    if (codeEnd < 0 || token.length > TOKEN_LENGTH_MAX) return undefined;
    const ids = readIds(token.slice(TAG_LENGTH, codeEnd));
    if (!ids) return undefined;
    const { customerId, listId, campaignId, edition, subscriberId } = ids;
    const key = `${kind} ${customerId} ${listId} ${campaignId} ${edition} ${token.slice(codeEnd)}`;
    const link = this.#known.get(key) ?? this.#linkOf(kind, ids, token.slice(codeEnd + 1));
    if (!link) return undefined;
    link.codes.begin(subscriberId);
    if (!sameBytes(Buffer.from(link.code.text()), Buffer.from(token.slice(0, codeEnd)))) return undefined;
    this.#keep(key, link);
    return { ...ids, number: link.target.no, url: link.target.url };
  }

  /** `text`: what stands behind the dot of a click, in its one spelling. */
  #linkOf(kind: CodedKind, ids: MessageIds & { edition: number }, text: string): KnownLink | undefined {
    const codes = this.#ofEdition(ids, ids.edition);
    if (kind !== 'click') return { codes, code: codes.plain(kind), target: NOWHERE };
    const target = readTarget(text);
    if (isTooLarge(target) || targetText(target) !== text) return undefined;
    return { codes, code: codes.click(target), target };
  }

  /** Only what we made, so nobody can push out what others use. */
  #keep(key: string, link: KnownLink): void {
    if (this.#known.has(key)) return;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(key, link);
  }

  #ofEdition(ids: MessageIds, edition: number): MessageCodes {
    return new MessageCodes({ ids, edition, padKey: this.#padKey, targets: this.#targets });
  }
}

/** The codes of one message, for one recipient after the other. */
export class MessageCodes {
  readonly #ids = Buffer.alloc(IDS_BYTES_MAX);
  readonly #idsEnd: number;
  readonly #targets: TagMaker;
  /** Key, ids, subscriber, group. */
  readonly #keyed: Buffer;
  /** The recipient's pads, one group behind the other; those of `#made` are theirs. */
  #pads = Buffer.alloc(0);
  readonly #made: boolean[] = [];
  /** The ids as letters. */
  readonly #whose = Buffer.alloc(CODE_LENGTH_MAX);
  #whoseLength = 0;

  constructor(message: { ids: MessageIds; edition: number; padKey: Buffer; targets: TagMaker }) {
    const { customerId, listId, campaignId } = message.ids;
    this.#ids[0] = VERSION;
    let end = 1;
    for (const id of [Number(customerId), Number(listId), Number(campaignId), message.edition])
      end = writeVarint(this.#ids, id, end);
    this.#idsEnd = end;
    this.#targets = message.targets;
    this.#keyed = Buffer.concat([message.padKey, this.#ids.subarray(0, end), Buffer.alloc(PAD_TAIL_BYTES)]);
  }

  /** The codes are this subscriber's from now on. */
  begin(subscriberId: bigint): void {
    const id = Number(subscriberId);
    const end = writeVarint(this.#ids, id, this.#idsEnd);
    this.#whoseLength = this.#whose.write(this.#ids.toString('base64url', 0, end), 'latin1');
    const at = KEY_BYTES + this.#idsEnd;
    this.#keyed.writeUIntBE(Math.floor(id / 2 ** 32), at, 4);
    this.#keyed.writeUIntBE(id % 2 ** 32, at + 4, 4);
    for (let group = 0; group < this.#made.length; group++) this.#made[group] = false;
  }

  /** The code of a link, which a dot and `targetText` follow. */
  click({ no, url }: LinkTarget): RecipientCode {
    assert(no <= LINK_NO_MAX, 'a link with a code has a small number');
    const place = { group: Math.floor(no / CLICK_LANES), lane: PLAIN_LANES + (no % CLICK_LANES) };
    return new RecipientCode(this, { ...place, mask: this.#maskOf(no, url) });
  }

  plain(kind: Exclude<CodedKind, 'click'>): RecipientCode {
    return new RecipientCode(this, { ...PLAIN_PLACES[kind], mask: NO_MASK });
  }

  /** Writes the code of a place into `memory` at `start`, and answers where it ends. */
  write({ group, from, mask }: Pad, memory: Uint8Array, start: number): number {
    if (this.#made[group] !== true) this.#makePads(group);
    const pads = this.#pads;
    let at = start;
    for (let n = 0; n < TAG_LENGTH; n++) memory[at++] = letterOf(valueOf(pads[from + n]) ^ (mask[n] ?? 0));
    const whose = this.#whose;
    const length = this.#whoseLength;
    for (let n = 0; n < length; n++) memory[at++] = whose[n] ?? 0;
    return at;
  }

  #makePads(group: number): void {
    this.#keyed.writeUInt16BE(group, this.#keyed.length - 2);
    const end = (group + 1) * GROUP_LENGTH;
    if (end > this.#pads.length) this.#pads = Buffer.concat([this.#pads, Buffer.alloc(end - this.#pads.length)]);
    this.#pads.write(eightTags(this.#keyed), group * GROUP_LENGTH, 'latin1');
    while (this.#made.length <= group) this.#made.push(false);
    this.#made[group] = true;
  }

  /** The target under a key, in values of the alphabet. */
  #maskOf(no: number, url: string): Uint8Array {
    const { content } = this.#targets;
    this.#ids.copy(content, 0, 0, this.#idsEnd);
    content[0] = MASKED;
    const start = writeVarint(content, no, this.#idsEnd);
    const tag = this.#targets.tag(start + content.write(url, start));
    return Uint8Array.from(Buffer.from(tag, 'latin1'), (letter) => valueOf(letter));
  }
}

interface Place {
  readonly group: number;
  readonly lane: number;
  readonly mask: Uint8Array;
}

interface Pad {
  readonly group: number;
  /** Where it begins among those of all groups. */
  readonly from: number;
  readonly mask: Uint8Array;
}

/** One link's code, of whoever its message's codes are now. */
export class RecipientCode {
  readonly #codes: MessageCodes;
  readonly #pad: Pad;

  constructor(codes: MessageCodes, { group, lane, mask }: Place) {
    this.#codes = codes;
    this.#pad = { group, from: group * GROUP_LENGTH + lane * TAG_LENGTH, mask };
  }

  /** Writes it into `memory` at `start`, at most CODE_LENGTH_MAX bytes, and answers where it ends. */
  write(memory: Uint8Array, start: number): number {
    return this.#codes.write(this.#pad, memory, start);
  }

  text(): string {
    const memory = Buffer.alloc(CODE_LENGTH_MAX);
    return memory.toString('latin1', 0, this.write(memory, 0));
  }
}

/** Whether a link can have a code. */
export function isCodable({ no }: LinkTarget): boolean {
  return no <= LINK_NO_MAX;
}

/** What follows the code of a click, behind a dot. */
export function targetText({ no, url }: LinkTarget): string {
  const bytes = Buffer.alloc(VARINT_BYTES_MAX + Buffer.byteLength(url));
  const start = writeVarint(bytes, no, 0);
  return bytes.toString('base64url', 0, start + bytes.write(url, start));
}

function readTarget(text: string): LinkTarget {
  const bytes = Buffer.from(text, 'base64url');
  const { values, end } = readVarints(bytes, 0, 1);
  return { no: values[0] ?? 0, url: bytes.toString('utf8', end) };
}

/** A number of very many bytes is none at all. */
function isTooLarge({ no, url }: LinkTarget): boolean {
  return !Number.isSafeInteger(no) || no > LINK_NO_MAX || url.length > LINK_URL_BYTES_MAX;
}

function readIds(text: string): (TrackedRecipient & { edition: number }) | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== VERSION || bytes.length > IDS_BYTES_MAX) return undefined;
  const { values } = readVarints(bytes, 1, 5);
  const [customerId = 0, listId = 0, campaignId = 0, edition = 0, subscriberId = 0] = values;
  if (edition > EDITION_MAX || !values.every((value) => Number.isSafeInteger(value))) return undefined;
  return {
    customerId: BigInt(customerId),
    listId: BigInt(listId),
    campaignId: BigInt(campaignId),
    edition,
    subscriberId: BigInt(subscriberId),
  };
}
