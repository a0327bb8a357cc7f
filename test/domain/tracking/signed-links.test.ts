/**
 * docs/signed-links.md, word by word: links as that page describes them, made by nothing but the runtime's HMAC, AES and
 * HKDF, are the product's; and what the page says about them is so.
 */
import { createCipheriv, createHmac, hkdfSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { deliveryMessageId, parseDeliveryMessageId } from '../../../src/domain/tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../../src/domain/tracking/link-signer.ts';
import { parseReturnPath, parseUnsubscribeAddress, returnPathOf } from '../../../src/domain/tracking/return-path.ts';
import type { TrackedRecipient } from '../../../src/domain/tracking/tracking.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { testInstallation } from '../../support/test-context.ts';

const signer = linkSignerOf(testInstallation);
const recipient = recipientOfCampaign({ customerId: 7n, listId: 300n, campaignId: 20_000n, subscriberId: 4_000_000n });
const EXPIRES_AT = new Date('2026-12-05T10:20:30Z');
const TARGETS = [{ no: 0, url: 'https://example.org/sale?x=1' }];
const PLAIN_KINDS = ['open', 'unsubscribe', 'updateProfile', 'webView'] as const;

const tokenOf = (address: string): string =>
  address.replace(/^http:\/\/mail\.test\/[a-z]+\//, '').replace(/\.gif$/, '');

const keyFor = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', testInstallation.secret, '', purpose, 32));

/** A mark is one number in base 36. */
function bytesOfMark(mark: string): Buffer {
  let number = 0n;
  for (const digit of mark) number = number * 36n + BigInt(Number.parseInt(digit, 36));
  return Buffer.from(number.toString(16).padStart(2 * Math.ceil(number.toString(16).length / 2), '0'), 'hex');
}

/** Seven bits a byte, lowest first. */
function varints(...values: number[]): Buffer {
  const bytes: number[] = [];
  for (const value of values) {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

/** What the page calls the ids: the format byte, five numbers, zeros to the end of a block. */
function idsOf(number: number, whose: TrackedRecipient): Buffer {
  const { customerId, sourceKind, sourceId, listId, recipientId, occurrence } = whose;
  const last = occurrence === 0n ? [] : [occurrence];
  const numbers = varints(number, ...[customerId, sourceId, listId, recipientId, ...last].map(Number));
  const ids = Buffer.concat([Buffer.from([0x10 + sourceKind]), numbers]);
  return Buffer.concat([ids, Buffer.alloc((16 - (ids.length % 16)) % 16)]);
}

function tokenWith(ids: Buffer, tag: Buffer): string {
  const cipher = createCipheriv('aes-256-ecb', keyFor('link-ids'), null).setAutoPadding(false);
  return Buffer.concat([cipher.update(ids), tag]).toString('base64url');
}

function hmac(algorithm: string, purpose: string, content: Buffer): Buffer {
  return createHmac(algorithm, keyFor(purpose)).update(content).digest();
}

describe('as the page describes them', () => {
  const tagsStart = { open: 0, unsubscribe: 16, updateProfile: 32, webView: 48 };

  test.each([
    recipient,
    { ...recipient, sourceKind: SOURCE_KINDS.none, sourceId: 0n, recipientId: 0n },
    { ...recipient, listId: 2n ** 48n },
  ])('tokens are AES over the ids and a quarter of an HMAC over them (%#)', (whose) => {
    const ids = idsOf(0, whose);
    const tags = hmac('sha512', 'link-tags', ids);
    const links = signer.forRecipient(whose);
    for (const kind of PLAIN_KINDS) {
      const start = tagsStart[kind];
      expect(tokenOf(links[kind]())).toBe(tokenWith(ids, tags.subarray(start, start + 16)));
    }
  });

  test('a click is the token of an open, and a code with an HMAC of its own', () => {
    const [url, no] = ['https://example.org/sale?x=1', 300];
    const said = Buffer.concat([Buffer.from([2]), varints(no), Buffer.from(url)]);
    const whose = Buffer.concat([Buffer.from([0x11]), varints(0, 7, 20_000, 4_000_000)]);
    const code = Buffer.concat([hmac('sha256', 'link-codes', Buffer.concat([whose, said])).subarray(0, 12), said]);
    const links = signer.forRecipient(recipient);
    expect(tokenOf(links.click(no, url))).toBe(`${tokenOf(links.open())}.${code.toString('base64url')}`);
  });

  test('a confirmation has a key of its own, and its expiry in the place of the edition', () => {
    const ids = idsOf(EXPIRES_AT.getTime() / 1_000, { ...recipient, sourceKind: SOURCE_KINDS.none, sourceId: 0n });
    const token = tokenWith(ids, hmac('sha256', 'link-confirmations', ids).subarray(0, 16));
    expect(
      tokenOf(signer.confirmation({ ...recipient, sourceKind: SOURCE_KINDS.none, sourceId: 0n }, EXPIRES_AT)),
    ).toBe(token);
  });
});

test('links of version 1 are read for ever: formats are added to, never changed', () => {
  const links = signer.forRecipient(recipient);
  const written = {
    open: links.open(),
    unsubscribe: links.unsubscribe(),
    updateProfile: links.updateProfile(),
    webView: links.webView(),
    own: links.click(3, 'https://example.org/sale?x=1'),
    confirmation: signer.confirmation(recipient, EXPIRES_AT),
    messageId: deliveryMessageId(testInstallation, recipient, 'sender.example'),
    returnPath: returnPathOf(testInstallation, recipient, 'bounces.example'),
  };
  expect(written).toMatchInlineSnapshot(`
    {
      "confirmation": "http://mail.test/confirm/UO8DOXUmZgps8_vFKfH9x7-_kPbqZNptYG3kZ0Z-MVM",
      "messageId": "<mail.e59412la3qa8jdyqxc93g7a1w5ke1gye@sender.example>",
      "open": "http://mail.test/o/usrx0jcj70aPDuwSjLfsLAMGb8GQz4vxnakiaGGAFwQ.gif",
      "own": "http://mail.test/c/usrx0jcj70aPDuwSjLfsLAMGb8GQz4vxnakiaGGAFwQ.I4mGZImpXvn_nppWAgNodHRwczovL2V4YW1wbGUub3JnL3NhbGU_eD0x",
      "returnPath": "bounce+e59412la3qa8jbcyxhbgrivtv0ifw7r6@bounces.example",
      "unsubscribe": "http://mail.test/u/usrx0jcj70aPDuwSjLfsLLLbAomdxrSpWZsIjHB1VCU",
      "updateProfile": "http://mail.test/profile/usrx0jcj70aPDuwSjLfsLN7r7r5kb_tXlTnbLQFdhUs",
      "webView": "http://mail.test/view/usrx0jcj70aPDuwSjLfsLJJEFKD04lt-7TqfXDp5K6Q",
    }
  `);
  const shared = links.share(TARGETS).around({ kind: 'click', no: 0, url: 'https://example.org/sale?x=1' });
  const memory = Buffer.alloc(100);
  const token = memory.toString('latin1', 0, shared?.code.write(memory, 0));
  expect(`${shared?.before}${token}${shared?.after}`).toMatchInlineSnapshot(
    `"http://mail.test/c/lYnQITmFCoTkZYXT7rWXIE3jtgd-RRjzWpmwAkU1ZHQ.V4aYP7t5cRiXGw9dAQBodHRwczovL2V4YW1wbGUub3JnL3NhbGU_eD0x"`,
  );
});

describe('no byte of it can be another', () => {
  const links = signer.forRecipient(recipient);
  const flipped = (bytes: Buffer) =>
    Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const other = Buffer.from(bytes);
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return other;
    });
  const neighbours = (text: string): string[] =>
    flipped(Buffer.from(text, 'base64url')).map((bytes) => bytes.toString('base64url'));

  test.each(PLAIN_KINDS)('of %s', (kind) => {
    const token = tokenOf(links[kind]());
    expect(signer.read(kind, token)).toEqual(recipient);
    expect(neighbours(token)).toHaveLength(256);
    expect(neighbours(token).filter((other) => signer.read(kind, other))).toEqual([]);
  });

  test('of a click, for all or for one, in token and code', () => {
    const shared = links.share(TARGETS).around({ kind: 'click', no: 0, url: 'https://example.org/sale?x=1' });
    for (const address of [
      links.click(0, 'https://example.org/sale?x=1'),
      `${links.token('click')}.${shared?.after}`,
    ]) {
      const [token = '', code = ''] = tokenOf(address).split('.');
      expect(signer.readClick(`${token}.${code}`)).toMatchObject({ ...recipient, linkNo: 0 });
      const others = [
        ...neighbours(token).map((other) => `${other}.${code}`),
        ...neighbours(code).map((other) => `${token}.${other}`),
      ];
      expect(others.length).toBeGreaterThan(256 + 8 * 'https://example.org/sale?x=1'.length);
      expect(others.filter((other) => signer.readClick(other) ?? signer.leadsNowhere(other))).toEqual([]);
    }
  });

  test('of a confirmation', () => {
    const token = tokenOf(signer.confirmation(recipient, EXPIRES_AT));
    expect(signer.readConfirmation(token)).toEqual({ ...recipient, expiresAt: EXPIRES_AT });
    expect(neighbours(token).filter((other) => signer.readConfirmation(other))).toEqual([]);
  });

  test('of a Message-ID and a return-path', () => {
    const bits = (text: string): string[] =>
      flipped(Buffer.from(text)).flatMap((bytes) =>
        bytes.every((byte) => byte < 128) ? bytes.toString('latin1') : [],
      );
    const [, id = ''] = /^<mail\.([0-9a-z]+)@/.exec(deliveryMessageId(testInstallation, recipient, 'x.example')) ?? [];
    const address = signer.forRecipient(recipient, undefined, 'x.example').unsubscribeMail() ?? '';
    const [, leave = ''] = /^bounce\+([0-9a-z]+)@x\.example$/.exec(address) ?? [];
    const [, path = ''] = /^bounce\+([0-9a-z]+)@/.exec(returnPathOf(testInstallation, recipient, 'x.example')) ?? [];
    expect(parseReturnPath(testInstallation, `bounce+${path}@x.example`)).toBeDefined();
    // In either case they are the same.
    const others = (text: string) => bits(text).filter((other) => other.toLowerCase() !== text);
    expect(others(id).filter((other) => parseDeliveryMessageId(testInstallation, `<mail.${other}@x.example>`))).toEqual(
      [],
    );
    expect(others(path).filter((other) => parseReturnPath(testInstallation, `bounce+${other}@x.example`))).toEqual([]);
    const unsubscribes = (mark: string) => parseUnsubscribeAddress(testInstallation, `bounce+${mark}@x.example`);
    expect(unsubscribes(leave.toUpperCase())).toMatchObject({
      customerId: 7n,
      sourceId: 20_000n,
      recipientId: 4_000_000n,
    });
    expect(others(leave).filter(unsubscribes)).toEqual([]);
    // By the page: the ids of the return-path, and the next 12 bytes of its HMAC.
    const [ofPath, ofAddress] = [path, leave].map((mark) => bytesOfMark(mark));
    expect(ofAddress?.subarray(0, -12)).toEqual(ofPath?.subarray(0, -12));
    const hmac = createHmac('sha256', keyFor('return-path'))
      .update(ofPath?.subarray(0, -12) ?? '')
      .digest();
    expect(ofPath?.subarray(-12)).toEqual(hmac.subarray(0, 12));
    expect(ofAddress?.subarray(-12)).toEqual(hmac.subarray(12, 24));
    // Nor is one taken for the other.
    expect(unsubscribes(path)).toBeUndefined();
    expect(unsubscribes(id)).toBeUndefined();
    expect(parseReturnPath(testInstallation, `bounce+${leave}@x.example`)).toBeUndefined();
    expect(parseDeliveryMessageId(testInstallation, `<mail.${path}@x.example>`)).toBeUndefined();
    expect(parseReturnPath(testInstallation, `bounce+${id}@x.example`)).toBeUndefined();
  });
});

describe('what is taken apart does not go together again', () => {
  test('ids of one link under the tag of another: other person, list, campaign, customer', () => {
    const parts = (whose: TrackedRecipient) => {
      const token = Buffer.from(tokenOf(signer.forRecipient(whose).unsubscribe()), 'base64url');
      return { ids: token.subarray(0, 16), tag: token.subarray(16) };
    };
    const own = parts(recipient);
    for (const id of ['customerId', 'listId', 'sourceId', 'recipientId'] as const) {
      const other = parts({ ...recipient, [id]: recipient[id] + 1n });
      for (const mixed of [Buffer.concat([own.ids, other.tag]), Buffer.concat([other.ids, own.tag])])
        expect(signer.read('unsubscribe', mixed.toString('base64url'))).toBeUndefined();
    }
  });

  test('a code of one customer or campaign behind the token of another, shared or own', () => {
    const url = 'https://example.org/sale?x=1';
    const token = signer.forRecipient(recipient).token('click');
    for (const id of ['customerId', 'sourceId', 'recipientId'] as const) {
      const links = signer.forRecipient({ ...recipient, [id]: recipient[id] + 1n });
      const code = tokenOf(links.click(0, url)).split('.')[1] ?? '';
      expect(signer.readClick(`${links.token('click')}.${code}`)).toBeDefined();
      expect(signer.readClick(`${token}.${code}`)).toBeUndefined();
    }
    const mine = signer.forRecipient(recipient);
    mine.share(TARGETS);
    for (const id of ['customerId', 'sourceId'] as const) {
      const shared = signer.forRecipient({ ...recipient, [id]: recipient[id] + 1n }).share(TARGETS);
      const code = shared.around({ kind: 'click', no: 0, url })?.after ?? '';
      expect(signer.readClick(`${mine.token('click')}.${code}`)).toBeUndefined();
    }
  });

  test('a click, an open or a page opens no other, and none is a confirmation', () => {
    const links = signer.forRecipient(recipient);
    const tokens = { ...Object.fromEntries(PLAIN_KINDS.map((kind) => [kind, tokenOf(links[kind]())])) };
    for (const [kind, token] of Object.entries(tokens)) {
      expect(PLAIN_KINDS.filter((other) => signer.read(other, token))).toEqual([kind]);
      expect(signer.readConfirmation(token)).toBeUndefined();
    }
    const click = tokenOf(links.click(0, 'https://example.org/'));
    for (const part of [click, ...click.split('.')])
      for (const kind of ['unsubscribe', 'updateProfile', 'webView'] as const)
        expect(signer.read(kind, part)).toBeUndefined();
    const confirmation = tokenOf(signer.confirmation(recipient, EXPIRES_AT));
    expect(PLAIN_KINDS.filter((kind) => signer.read(kind, confirmation))).toEqual([]);
  });
});

test('links of successive mails share no byte that counts, and none that stays', () => {
  const COUNT = 512;
  const bytesOf = (change: (n: bigint) => Partial<TrackedRecipient>) =>
    Array.from({ length: COUNT }, (_, n) => {
      const links = signer.forRecipient({ ...recipient, ...change(BigInt(n)) });
      return Buffer.from(tokenOf(links.unsubscribe()), 'base64url');
    });
  for (const id of ['recipientId', 'sourceId', 'customerId', 'listId'] as const) {
    const tokens = bytesOf((n) => ({ [id]: recipient[id] + n }));
    for (let at = 0; at < 32; at++) {
      const column = tokens.map((token) => token[at] ?? 0);
      // Of 512 throws of 256 faces some 221 come up; a counter's byte shows 2, 4 or all 256 in order.
      expect(new Set(column).size).toBeGreaterThan(150);
      const steps = column.slice(1).map((byte, n) => (byte - (column[n] ?? 0) + 256) % 256);
      const commonest = Math.max(...[...Map.groupBy(steps, (step) => step).values()].map(({ length }) => length));
      expect(commonest).toBeLessThan(20);
    }
  }
});
