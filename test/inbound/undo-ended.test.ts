/** Any later withdrawal ends the undo of a click on the unsubscribe page, and so does another address. */
import { beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { findOwnedList } from '../../src/domain/audience/find-owned-list.ts';
import { suppressAddresses, unsuppressAddress } from '../../src/domain/audience/suppression-list.ts';
import { unsubscribeFromLists, unsubscribePerson } from '../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../src/domain/audience/update-subscriber.ts';
import { recordUnsubscribe } from '../../src/domain/tracking/record-unsubscribe.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { newUid } from '../../src/lib/ids.ts';
import { importFile } from '../support/import-file.ts';
import { startUndoServer } from './undo-server.ts';

const { ctx, seeded, status, post, stateOf, consentsOf, reset } = await startUndoServer();
const { customerId, listId, campaignId, listUid, subscriberIds } = seeded;
/** Of the first person. */
const EMAIL = 'p1@example.org';

beforeEach(reset);

/** The customer's own user. */
async function asOwner() {
  const [user] = await queryRows<{ id: bigint; uid: string }>(
    ctx.db,
    sql`INSERT INTO app_user (customer_id, uid, email, email_key, password_hash)
        VALUES (${customerId}, ${newUid()}, 'owner@undo.example', 'owner@undo.example', 'x') RETURNING id, uid`,
  );
  if (!user) throw new Error('No user was made.');
  const token = {
    tokenId: 0n,
    tokenUid: '0000000000000',
    tokenKind: 'primary',
    isAdmin: false,
    scopes: ['*'],
  } as const;
  return { ...ctx, viewer: { ...token, userId: user.id, userUid: user.uid, customerId } };
}

describe('a later withdrawal ends the undo', async () => {
  const owner = await asOwner();
  const person = { customerId, listId, id: subscriberIds[0] ?? 0n };
  const recipient = recipientOfCampaign({ customerId, listId, campaignId, subscriberId: person.id });
  const visitor = { ip: null, userAgent: null, isMachine: false, looksAhead: false };
  const ways: Record<string, { source: string; withdraw: () => Promise<unknown> }> = {
    'a one-click request': { source: 'one-click', withdraw: () => post(0, { 'List-Unsubscribe': 'One-Click' }) },
    'a second click': { source: 'link', withdraw: () => post(0, {}) },
    'a mail': {
      ...{ source: 'mail' },
      withdraw: () => recordUnsubscribe(ctx, { recipient, visitor, source: 'mail', reason: null }),
    },
    'a complaint': { source: 'complaint', withdraw: () => unsubscribePerson(ctx, person, 'complaint') },
    'the API, on every list': {
      ...{ source: 'api' },
      withdraw: () => unsubscribeFromLists(owner, { subscriber: EMAIL }),
    },
    'the API, by status': {
      ...{ source: 'api' },
      withdraw: () => updateSubscriber(owner, { subscriber: String(person.id), listUid, status: 'unsubscribed' }),
    },
    'a suppression, even when it was removed again': {
      source: 'api',
      async withdraw() {
        await suppressAddresses(owner, { emails: [EMAIL] });
        await unsuppressAddress(owner, { email: EMAIL });
      },
    },
    'an import that says so': {
      source: 'import',
      async withdraw() {
        const mailList = await findOwnedList(owner, listUid);
        const file = `EMAIL,STATUS\n${EMAIL},unsubscribed\n`;
        expect(await importFile(owner, mailList, file, { updateExisting: true })).toMatchObject({ status: 'done' });
      },
    },
  };
  test.each(Object.entries(ways))('%s', async (_name, { source, withdraw }) => {
    const left = await post(0, {});
    const before = await stateOf(0);
    await withdraw();
    const history = await consentsOf(0);
    expect(history).toEqual(['unsubscribed link', expect.stringMatching(`^unsubscribed ${source}`)]);
    // Repeated: no more entries, and no other figures.
    await withdraw();
    expect(await consentsOf(0)).toEqual(history);
    expect(left.undo).toBeDefined();
    expect((await post(0, { undo: left.undo ?? '' })).status).toBe(410);
    expect(await stateOf(0)).toEqual(before);
  });

  test('but no import that says something else', async () => {
    const left = await post(0, {});
    const mailList = await findOwnedList(owner, listUid);
    await importFile(owner, mailList, `EMAIL,STATUS\n${EMAIL},subscribed\n`, { updateExisting: true });
    expect((await post(0, { undo: left.undo ?? '' })).status).toBe(200);
    expect(await status(0)).toBe('subscribed');
  });

  test('another address is not subscribed by the click of the one before', async () => {
    const left = await post(0, {});
    await updateSubscriber(owner, { subscriber: String(person.id), listUid, email: 'somebody-else@undo.example' });
    expect((await post(0, { undo: left.undo ?? '' })).status).toBe(410);
    expect(await status(0)).toBe('unsubscribed');
    // Only its case differs: the same address.
    await updateSubscriber(owner, { subscriber: String(person.id), listUid, email: EMAIL.toUpperCase() });
    expect((await post(0, { undo: left.undo ?? '' })).status).toBe(200);
  });
});
