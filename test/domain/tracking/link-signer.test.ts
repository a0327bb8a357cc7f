/** Links with a token of their own: each says what it was made for, and nobody can make another. */
import { fc } from '../../support/property.ts';
import { describe, expect, test } from 'vitest';
import { linkSignerOf } from '../../../src/domain/tracking/link-signer.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from '../../../src/domain/tracking/tracking.ts';
import { testInstallation } from '../../support/test-context.ts';
import { neighboursOf } from './neighbours.ts';

const installation = testInstallation;
const signer = linkSignerOf(installation);
const recipient: TrackedRecipient = { customerId: 1n, listId: 22n, campaignId: 333n, subscriberId: 4_444_444_444n };
const links = signer.forRecipient(recipient);

/** As links were made until version 2, under one secret. */
const FIRST_VERSION = {
  installation: { ...installation, secret: 'test-secret-'.repeat(4) },
  first: {
    open: 'rBqnoM79pBQeLHmUx5efzREBFs0CnK6jxxAA',
    unsubscribe: 'UjeXKB0z740JKk8HM_MnkRMBFs0CnK6jxxAA',
    webView: 'Gv1o1_mUDL0p0OMoZC7RlhQBFs0CnK6jxxAA',
    updateProfile: 'kUrnyWOwhASdGyH5lmtYLxUBFs0CnK6jxxAA',
    click: 'mE3bte5XVKejZY-xZSnQmhIBFs0CnK6jxxADaHR0cHM6Ly9leGFtcGxlLm9yZy9zYWxlP3g9MQ',
    confirm: 'WKiEGtULxa0zrE-OZRLj0hYBFs0CnK6jxxDuys_YBg',
  },
};

function tokenOf(address: string): string {
  return address.replace(/^http:\/\/mail\.test\/[a-z]+\//, '').replace(/\.gif$/, '');
}

describe('a signed link', () => {
  test('says whose it is, for every id there can be', () => {
    const id = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n });
    fc.assert(
      fc.property(id, id, id, id, (customerId, listId, campaignId, subscriberId) => {
        const whose = { customerId, listId, campaignId, subscriberId };
        const address = signer.forRecipient(whose).unsubscribe();
        expect(signer.read('unsubscribe', tokenOf(address))).toEqual(whose);
      }),
    );
  });

  test('carries where it leads, whatever the address', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.nat(), (url, no) => {
        const click = signer.readClick(tokenOf(links.click(no, url)));
        expect(click).toEqual({ ...recipient, linkNo: no, url: new URL(url).href });
      }),
    );
  });

  test('is good for its own kind only', () => {
    const kinds = ['open', 'unsubscribe', 'webView', 'updateProfile'] as const;
    for (const kind of kinds) {
      const token = tokenOf(links[kind]());
      expect(kinds.filter((other) => signer.read(other, token))).toEqual([kind]);
      expect(signer.readClick(token)).toBeUndefined();
      expect(signer.readConfirmation(token)).toBeUndefined();
    }
  });

  test('is another one for everything that it says', () => {
    const seen = new Set<string>();
    const ids = [
      recipient,
      ...['customerId', 'listId', 'campaignId', 'subscriberId'].map((id) => ({ ...recipient, [id]: 9n })),
    ];
    for (const whose of ids) {
      const own = signer.forRecipient(whose);
      for (const no of [0, 1]) {
        for (const url of ['https://a.example/', 'https://b.example/'])
          seen.add(tokenOf(own.click(no, url)).slice(0, 22));
      }
      for (const kind of ['open', 'unsubscribe', 'webView', 'updateProfile'] as const)
        seen.add(tokenOf(own[kind]()).slice(0, 22));
    }
    expect(seen.size).toBe(ids.length * 8);
    // Two sets of links made in turn do not mix.
    const [one, other] = ids.map((whose) => signer.forRecipient(whose));
    for (const [links_, whose] of [
      [one, ids[0]],
      [other, ids[1]],
      [one, ids[0]],
    ] as const)
      expect(signer.read('open', tokenOf(links_?.open() ?? ''))).toEqual(whose);
  });

  test('is worth nothing under another secret', () => {
    const other = linkSignerOf({ ...installation, secret: 'b'.repeat(32) });
    expect(other.read('open', tokenOf(links.open()))).toBeUndefined();
  });

  test('a confirmation says until when, to the second', () => {
    const expiresAt = new Date('2026-12-05T10:20:30.999Z');
    const read = signer.readConfirmation(tokenOf(signer.confirmation(recipient, expiresAt)));
    expect(read).toEqual({ ...recipient, expiresAt: new Date('2026-12-05T10:20:30.000Z') });
  });

  test('no neighbour of it is another one (E4)', () => {
    const token = tokenOf(links.click(3, 'https://example.org/sale?x=1'));
    expect([...neighboursOf(token)].filter((neighbour) => signer.readClick(neighbour))).toEqual([]);
  });

  test('of the first version still works, to the letter', () => {
    const { installation: own, first } = FIRST_VERSION;
    const old = linkSignerOf(own);
    for (const kind of ['open', 'unsubscribe', 'webView', 'updateProfile'] as const) {
      expect(old.read(kind, first[kind])).toEqual(recipient);
      expect(old.read(kind === 'open' ? 'webView' : 'open', first[kind])).toBeUndefined();
    }
    expect(old.readClick(first.click)).toEqual({ ...recipient, linkNo: 3, url: 'https://example.org/sale?x=1' });
    expect(old.readConfirmation(first.confirm)?.expiresAt).toEqual(new Date('2026-12-05T10:20:30Z'));
    expect([...neighboursOf(first.click)].filter((neighbour) => old.readClick(neighbour))).toEqual([]);
  });

  test('never throws on what anybody may send', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (token) => {
        expect(signer.readClick(token)).toBeUndefined();
        expect(signer.read('open', token)).toBeUndefined();
        expect(signer.readConfirmation(token)).toBeUndefined();
      }),
    );
  });
});

describe('what is not tracked', () => {
  test.each(['mailto:a@b.example', 'javascript:alert(1)', '#top', '/relative', 'data:text/html,x'])(
    '%s stays as it is',
    (url) => {
      expect(links.click(0, url)).toBe(url);
    },
  );

  test('an address too long for a link stays as it is', () => {
    const url = (length: number) => `https://example.org/${'ä'.repeat(length)}`;
    expect(links.click(0, url(LINK_URL_BYTES_MAX / 2))).toBe(url(LINK_URL_BYTES_MAX / 2));
    const longest = url((LINK_URL_BYTES_MAX - 20) / 2);
    expect(signer.readClick(tokenOf(links.click(0, longest)))?.url).toBe(new URL(longest).href);
  });

  test('a signed address that is none leads nowhere', () => {
    expect(signer.readClick(tokenOf(links.click(0, 'https://exa mple/')))).toBeUndefined();
  });

  test('line breaks in an address do not reach a header', () => {
    const click = signer.readClick(tokenOf(links.click(0, 'https://example.org/a\r\nSet-Cookie: x=1')));
    expect(click?.url).toBe('https://example.org/aSet-Cookie:%20x=1');
  });
});

test('a link costs a few microseconds', () => {
  const count = 20_000;
  for (let n = 0; n < count; n++) links.click(1, 'https://example.org/warm-up');
  const before = process.cpuUsage();
  for (let n = 0; n < count; n++) links.click(n % 8, 'https://example.org/autumn/sale?utm_source=newsletter');
  const { user, system } = process.cpuUsage(before);
  // 1 to 2 µs measured; the bar is 10 on an idle machine, and this one may be shared.
  expect((user + system) / count).toBeLessThan(40);
});
