/** An address is unsubscribed on every list that has it, in one call (D50): over REST in both dialects, and over GraphQL. */
import { describe, expect, test } from 'vitest';
import { startSubscriberWorld } from '../support/subscriber-world.ts';

const { app, owner, stranger, list, as, newList, address, add, twin } = await startSubscriberWorld();

describe('opting out needs no choice (D50)', () => {
  const statuses = async (email: string, token = owner.token) => {
    const { body } = await app.rest(`/subscribers/email/${email}`, as('GET', undefined, token));
    return (body as { subscribers: { status: string }[] }).subscribers.map(({ status }) => status);
  };

  test.each(['standard', 'classic'])('an address is unsubscribed on every list, %s', async (dialect) => {
    const lists = [list, await newList(), await newList()];
    const EMAIL = address();
    const people = [];
    for (const list_uid of lists) people.push(await add({ EMAIL, list_uid }));
    await app.rest('/subscribers', as('POST', { list_uid: await newList({}, stranger.token), EMAIL }, stranger.token));
    const request = (path: string) => app.rest(path, { ...as('PATCH'), headers: { 'X-Api-Dialect': dialect } });
    // Other acts still ask for the list.
    for (const path of [`/subscribers/${EMAIL}`, `/subscribers/${EMAIL}/subscribe`])
      expect(await request(path)).toMatchObject({ status: 422, body: { errors: { list_uid: expect.anything() } } });
    const one = await request(`/subscribers/email/${EMAIL}/unsubscribe?list_uid=${lists[1]}`);
    expect(one).toMatchObject({ status: 200, body: { subscriber_uid: people[1]?.uid, list_uids: [lists[1]] } });
    expect(await statuses(EMAIL)).toEqual(['subscribed', 'unsubscribed', 'subscribed']);
    for (const path of [`/subscribers/email/${EMAIL.toUpperCase()}/unsubscribe`, `/subscribers/${EMAIL}/unsubscribe`]) {
      const answer = await request(path);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        ...{ status: 1, message: 'Subscriber was unsubscribed' },
        ...{ subscriber_uid: people[0]?.uid, subscriber_id: people[0]?.id, list_uids: lists },
      });
      expect(await statuses(EMAIL)).toEqual(['unsubscribed', 'unsubscribed', 'unsubscribed']);
    }
    // One withdrawal in each history, and nobody else's person.
    for (const { uid } of people) {
      const { consentEvents } = await twin(uid);
      expect(consentEvents).toEqual([
        { status: 'subscribed', source: 'api' },
        { status: 'unsubscribed', source: 'api' },
      ]);
    }
    expect(await statuses(EMAIL, stranger.token)).toEqual(['subscribed']);
  });

  test('nobody is told who is on the lists of others', async () => {
    const EMAIL = address();
    const foreign = await newList({}, stranger.token);
    await app.rest('/subscribers', as('POST', { list_uid: foreign, EMAIL }, stranger.token));
    const [theirs, nobodys] = [
      await app.rest(`/subscribers/email/${EMAIL}/unsubscribe`, as('PATCH')),
      await app.rest(`/subscribers/email/nobody@x.co/unsubscribe`, as('PATCH')),
    ];
    expect(theirs.status).toBe(404);
    expect([nobodys.status, nobodys.body]).toEqual([theirs.status, theirs.body]);
    expect(await statuses(EMAIL, stranger.token)).toEqual(['subscribed']);
    const wrong = await app.rest('/subscribers/email/no-address/unsubscribe', as('PATCH'));
    expect(wrong.status).toBe(404);
  });

  test('over GraphQL, too', async () => {
    const EMAIL = address();
    const lists = [list, await newList()];
    for (const list_uid of lists) await add({ EMAIL, list_uid });
    const query =
      'mutation ($email: String!) { unsubscribeFromLists(subscriber: $email) { ... on UnsubscribedFromLists { subscribers { status list { uid } } } } }';
    const answer = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
      body: JSON.stringify({ query, variables: { email: EMAIL } }),
    });
    expect(await answer.json()).toEqual({
      data: {
        unsubscribeFromLists: { subscribers: lists.map((uid) => ({ status: 'unsubscribed', list: { uid } })) },
      },
    });
  });
});
