/** Links that all recipients of a message share but for a token: each says what it did, and nobody can make another. */
import { fc } from '../../support/property.ts';
import { describe, expect, test } from 'vitest';
import { CODE_LENGTH_MAX } from '../../../src/domain/content/message.ts';
import { linkSignerOf } from '../../../src/domain/tracking/link-signer.ts';
import type { SharedLink, SharedLinks } from '../../../src/domain/tracking/shared-links.ts';
import { LINK_URL_BYTES_MAX } from '../../../src/domain/tracking/tracking.ts';
import { testInstallation } from '../../support/test-context.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { neighboursOf } from './neighbours.ts';

const signer = linkSignerOf(testInstallation);
const recipient = recipientOfCampaign({ customerId: 1n, listId: 22n, campaignId: 333n, subscriberId: 4_444_444_444n });
const TARGETS = Array.from({ length: 20 }, (_, no) => ({ no, url: `https://example.org/offer/${no}?x=1` }));
const KINDS = ['open', 'unsubscribe', 'webView', 'updateProfile'] as const;

function addressOf(shared: SharedLinks, link: SharedLink): string {
  const address = shared.around(link);
  if (!address) throw new Error('no code');
  const memory = Buffer.alloc(CODE_LENGTH_MAX);
  return address.before + memory.toString('latin1', 0, address.code.write(memory, 0)) + address.after;
}

function tokenOf(shared: SharedLinks, link: SharedLink): string {
  return addressOf(shared, link)
    .replace(/^http:\/\/mail\.test\/[a-z]+\//, '')
    .replace(/\.gif$/, '');
}

const clickOf = (shared: SharedLinks, no: number): string =>
  tokenOf(shared, { kind: 'click', ...(TARGETS[no] ?? { no, url: '' }) });

describe('a shared link', () => {
  test('says whose it is and where it leads, for every id and link there can be', () => {
    const id = fc.bigInt({ min: 0n, max: 2n ** 49n - 1n });
    const url = fc.webUrl({ withQueryParameters: true, withFragments: true });
    fc.assert(
      fc.property(id, id, id, id, fc.nat(1_023), url, (customerId, listId, campaignId, subscriberId, no, address) => {
        const whose = recipientOfCampaign({ customerId, listId, campaignId, subscriberId });
        const shared = signer.forRecipient(whose).share([{ no, url: address }]);
        const click = signer.readClick(tokenOf(shared, { kind: 'click', no, url: address }));
        expect(click).toEqual({ ...whose, linkNo: no, url: new URL(address).href });
        for (const kind of KINDS) expect(signer.read(kind, tokenOf(shared, { kind }))).toEqual(whose);
      }),
    );
  });

  test('is of one recipient after the other, and used again for the same message only', () => {
    const first = signer.forRecipient(recipient).share(TARGETS);
    const mine = [...TARGETS.keys()].map((no) => clickOf(first, no));
    const other = { ...recipient, recipientId: 7n };
    expect(signer.forRecipient(other).share(TARGETS, first)).toBe(first);
    for (const no of TARGETS.keys()) {
      expect(signer.readClick(clickOf(first, no))).toMatchObject({ recipientId: 7n, linkNo: no });
      expect(signer.readClick(mine[no] ?? '')).toMatchObject({ recipientId: recipient.recipientId, linkNo: no });
    }
    const otherList = { ...recipient, listId: 9n };
    signer.forRecipient(otherList).share(TARGETS, first);
    expect(signer.readClick(clickOf(first, 3))).toMatchObject({ ...otherList, linkNo: 3 });
    for (const id of ['customerId', 'sourceId'])
      expect(signer.forRecipient({ ...recipient, [id]: 9n }).share(TARGETS, first)).not.toBe(first);
    expect(signer.forRecipient(recipient, 'https://elsewhere.test').share(TARGETS, first)).not.toBe(first);
  });

  test('is good for its own kind only', () => {
    const shared = signer.forRecipient(recipient).share(TARGETS);
    for (const kind of KINDS) {
      const token = tokenOf(shared, { kind });
      expect(KINDS.filter((other) => signer.read(other, token))).toEqual([kind]);
      expect(signer.readClick(token)).toBeUndefined();
      const click = signer.readClick(`${token}.${clickOf(shared, 0).split('.')[1]}`);
      // Opens and clicks are signed by the same bytes.
      expect(click?.linkNo).toBe(kind === 'open' ? 0 : undefined);
    }
    for (const kind of KINDS) expect(signer.read(kind, clickOf(shared, 0))).toBeUndefined();
    const [token = ''] = clickOf(shared, 0).split('.');
    expect(KINDS.filter((kind) => signer.read(kind, token))).toEqual(['open']);
  });

  test('is another one for everything that it says', () => {
    const seen = new Set<string>();
    const ids = ['customerId', 'listId', 'sourceId', 'recipientId'].map((id) => ({ ...recipient, [id]: 9n }));
    const moved = TARGETS.map(({ no, url }) => ({ no, url: `${url}&moved` }));
    for (const whose of [recipient, ...ids]) {
      for (const targets of [TARGETS, moved]) {
        const shared = signer.forRecipient(whose).share(targets);
        for (const target of targets) seen.add(tokenOf(shared, { kind: 'click', ...target }));
        for (const kind of KINDS) seen.add(tokenOf(shared, { kind }));
      }
    }
    expect(seen.size).toBe(5 * 2 * (TARGETS.length + KINDS.length));
  });

  test('no neighbour of it is another one (E4)', () => {
    const token = clickOf(signer.forRecipient(recipient).share(TARGETS), 3);
    expect(signer.readClick(token)).toBeDefined();
    expect([...neighboursOf(token)].filter((neighbour) => signer.readClick(neighbour))).toEqual([]);
  });

  test('is read whatever follows its code: numbers without end, of nothing, addresses of any length', () => {
    const [code = ''] = clickOf(signer.forRecipient(recipient).share(TARGETS), 3).split('.');
    const endless = [7, 8, 100, 145, 146, 147, 148, 1_000, 2_000, 4_000].flatMap((count) => [
      Buffer.alloc(count, 0x80),
      Buffer.alloc(count, 0xff),
      Buffer.concat([Buffer.alloc(count, 0x80), Buffer.from('\u0001https://evil.example/')]),
    ]);
    const targets = [...endless, Buffer.alloc(0), Buffer.from(`\u0003${'\u{fffd}'.repeat(1_000)}`)];
    for (const target of targets) expect(signer.readClick(`${code}.${target.toString('base64url')}`)).toBeUndefined();
  });

  test('is of one edition: no code goes with a token of another', () => {
    const editions = [TARGETS, TARGETS.map(({ no, url }) => ({ no, url: `${url}&moved` })), TARGETS.slice(1)];
    const links = editions.flatMap((targets, edition) =>
      [recipient, { ...recipient, recipientId: 7n }].map((whose) => {
        const target = targets[1] ?? { no: 0, url: '' };
        const token = tokenOf(signer.forRecipient(whose).share(targets), { kind: 'click', ...target });
        const [ids = '', code = ''] = token.split('.');
        return { edition, recipientId: whose.recipientId, ids, code };
      }),
    );
    for (const whose of links)
      for (const where of links) {
        const click = signer.readClick(`${whose.ids}.${where.code}`);
        // Within an edition a link leads everybody to the same place, whoever's copy it was taken from.
        expect(click?.recipientId).toBe(whose.edition === where.edition ? whose.recipientId : undefined);
      }
  });

  test('is worth nothing under another secret', () => {
    const other = linkSignerOf({ ...testInstallation, secret: 'b'.repeat(32) });
    const shared = signer.forRecipient(recipient).share(TARGETS);
    expect(other.readClick(clickOf(shared, 0))).toBeUndefined();
    expect(other.read('open', tokenOf(shared, { kind: 'open' }))).toBeUndefined();
  });

  test('has the longest code in a line of quoted-printable', () => {
    const id = 2n ** 49n - 1n;
    const shared = signer
      .forRecipient(recipientOfCampaign({ customerId: id, listId: id, campaignId: id, subscriberId: id }))
      .share(TARGETS);
    const code = shared.around({ kind: 'open' })?.code;
    expect(code?.write(Buffer.alloc(100), 0)).toBeLessThanOrEqual(CODE_LENGTH_MAX);
  });
});

test('what is not tracked has no address', () => {
  const long = `https://example.org/${'x'.repeat(LINK_URL_BYTES_MAX)}`;
  const urls = ['https://a.example/', 'mailto:a@b.example', long];
  const targets = [...urls.map((url, no) => ({ no, url })), { no: 1_024, url: 'https://b.example/' }];
  const shared = signer.forRecipient(recipient).share(targets);
  const coded = targets.filter((target) => shared.around({ kind: 'click', ...target }));
  expect(coded).toEqual([targets[0], targets[3]]);
});
