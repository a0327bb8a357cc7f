/** The button "subscribe again" on the page that follows unsubscribing: it brings back what this click ended, and nothing else. */
import { beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { suppress } from '../../src/domain/audience/suppression-store.ts';
import { startUndoServer } from './undo-server.ts';

const { ctx, seeded, links, here, status, post, stateOf, consentsOf, reset } = await startUndoServer();
const { customerId, subscriberIds } = seeded;

beforeEach(reset);

describe('the button', () => {
  test('brings back exactly the state before, and the history has both', async () => {
    const before = await stateOf(0);
    const left = await post(0, { reason: 'other' });
    expect(await stateOf(0)).toMatchObject({ status: 'unsubscribed', events: 1 });
    const back = await post(0, { undo: left.undo ?? '' });
    expect([back.status, back.text.includes('You are subscribed again')]).toEqual([200, true]);
    expect(await stateOf(0)).toEqual(before);
    expect(await consentsOf(0)).toEqual(['unsubscribed link', 'subscribed undo']);
    // Pressed twice: nothing more happens.
    expect((await post(0, { undo: left.undo ?? '' })).status).toBe(200);
    expect(await consentsOf(0)).toHaveLength(2);
    // A later click counts again.
    await post(0, {});
    expect(await stateOf(0)).toMatchObject({ status: 'unsubscribed', events: 1 });
  });

  test('undoes no later unsubscription, and none after an hour', async () => {
    const first = await post(1, {});
    await post(1, { undo: first.undo ?? '' });
    await post(1, {});
    const again = await post(1, { undo: first.undo ?? '' });
    expect([again.status, await status(1)]).toEqual([410, 'unsubscribed']);

    const late = await post(2, {});
    await ctx.db.execute(sql`UPDATE consent_event SET at = at - interval '61 minutes'`);
    expect((await post(2, { undo: late.undo ?? '' })).status).toBe(410);
    expect(await stateOf(2)).toMatchObject({ status: 'unsubscribed', events: 1 });
  });

  test('undoes nothing for a suppressed address, nor after a complaint', async () => {
    const left = await post(3, {});
    const [row] = await queryRows<{ email_key: string }>(
      ctx.db,
      sql`SELECT email_key FROM subscriber WHERE id = ${subscriberIds[3]}`,
    );
    await suppress(ctx.db, { customerId, emailKey: row?.email_key ?? '', reason: 'complaint' });
    expect((await post(3, { undo: left.undo ?? '' })).status).toBe(410);
    expect(await status(3)).toBe('unsubscribed');
  });

  test('is only for the reader whose click it was', async () => {
    const [mine, other] = [await post(0, {}), await post(4, {})];
    expect([mine.undo, other.undo]).not.toContain(undefined);
    for (const undo of [other.undo, mine.undo?.replace(/.$/, '_'), '', '1.2.3.4', 'x'.repeat(500)])
      expect((await post(0, { undo: undo ?? '' })).status).toBe(410);
    expect([await status(0), await status(4)]).toEqual(['unsubscribed', 'unsubscribed']);
  });
});

describe('no button', () => {
  test('for programs, whose unsubscription counts all the same', async () => {
    const left = await post(0, {}, 'curl/8.14.1');
    expect([left.status, left.undo, await status(0)]).toEqual([200, undefined, 'unsubscribed']);
  });

  test('and one that was not ours tells a subscribed person nothing', async () => {
    for (const undo of ['garbage', '', '1.2.3.4']) {
      const answer = await post(0, { undo });
      expect([answer.status, answer.text.includes('You are subscribed again')]).toEqual([410, false]);
    }
    expect(await status(0)).toBe('subscribed');
  });

  test('for a robot (RFC 8058), for a repeated click, and on the page that is opened later', async () => {
    expect((await post(1, { 'List-Unsubscribe': 'One-Click' })).undo).toBeUndefined();
    expect((await post(2, {})).undo).toBeDefined();
    expect((await post(2, {})).undo).toBeUndefined();
    expect(await (await fetch(here(links(2).unsubscribe()))).text()).not.toContain('name="undo"');
  });

  test('for a person who was not subscribed', async () => {
    await ctx.db.execute(sql`UPDATE subscriber SET status = 'pending' WHERE id = ${subscriberIds[4]}`);
    expect((await post(4, {})).undo).toBeUndefined();
    expect(await status(4)).toBe('unsubscribed');
  });

  test('and a robot that sends one unsubscribes all the same', async () => {
    const left = await post(0, {});
    await post(0, { 'List-Unsubscribe': 'One-Click', undo: left.undo ?? '' });
    expect(await status(0)).toBe('unsubscribed');
  });
});
