/**
 * A request that meets a lock which somebody else holds for too long: every entry point says so and when to try again, nothing is half
 * written, and the log has a warning and no defect.
 */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { REQUEST_LIMITS } from '../../src/db/work-limits.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { seedCampaign } from '../support/audience-rows.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startSubscriberWorld } from '../support/subscriber-world.ts';

const { app, owner, as, add, twin } = await startSubscriberWorld();
const { db, database, installation } = app.ctx;
const TOO_LONG = /^This took too long and was stopped/;

async function graphql(query: string, variables: object) {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return { status: answer.status, body: await answer.json() };
}

const UPDATE = 'mutation ($input: UpdateSubscriberInput!) { updateSubscriber(input: $input) { __typename } }';
const PAGE =
  'query ($after: String) { lists(first: 1, after: $after) { ... on MailListConnection { edges { cursor } } } }';

test(
  'a lock that is held for too long ends in the same clear error at every entry point, and nothing is half written',
  async () => {
    const { uid, id } = await add({ FIRST_NAME: 'Before' });
    const { customerId, listId, campaignId, subscriberIds } = await seedCampaign(db, { subscribers: 1 });
    const [subscriberId = 0n] = subscriberIds;
    const link = linkSignerOf(installation)
      .forRecipient(recipientOfCampaign({ customerId, listId, campaignId, subscriberId }))
      .unsubscribe();
    const first = await graphql(PAGE, {});
    const after: unknown = first.body.data.lists.edges[0].cursor;
    const change = { FIRST_NAME: 'After', tag: 'new' };
    const act = () =>
      Promise.all([
        app.rest(`/subscribers/${uid}`, as('PATCH', change)),
        graphql(UPDATE, { input: { subscriber: uid, fieldValues: { FIRST_NAME: 'After' } } }),
        fetch(new URL(new URL(link).pathname, app.baseUrl), {
          method: 'POST',
          body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
        }),
      ]);
    const [rest, mutation, oneClick, page] = await database.transaction(async (tx) => {
      await queryRows(tx, sql`SELECT 1 FROM subscriber WHERE id IN (${id}::bigint, ${subscriberId}) FOR UPDATE`);
      const answers = await act();
      await tx.execute(sql`LOCK TABLE mail_list IN ACCESS EXCLUSIVE MODE`);
      return [...answers, await graphql(PAGE, { after })] as const;
    });

    expect([rest.status, rest.headers.get('retry-after')]).toEqual([503, '5']);
    expect(rest.body).toEqual({ message: expect.stringMatching(TOO_LONG) });
    for (const answer of [mutation, page]) {
      expect(answer.body.errors).toEqual([
        expect.objectContaining({ message: expect.stringMatching(TOO_LONG), extensions: { code: 'TIMED_OUT' } }),
      ]);
    }
    expect([oneClick.status, oneClick.headers.get('retry-after')]).toEqual([503, '5']);
    expect(app.logged.filter((line) => line.includes('defect'))).toEqual([]);
    expect(await twin(uid)).toMatchObject({ status: 'subscribed', tags: [], fieldValues: { FIRST_NAME: 'Before' } });
    expect(await queryRows(db, sql`SELECT 1 FROM hot.unsubscribe_event`)).toEqual([]);
    expect(
      await queryRows(db, sql`SELECT 1 FROM hot.audit_event WHERE operation = 'updateSubscriber' AND failure IS NULL`),
    ).toEqual([]);

    expect((await act()).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await twin(uid)).toMatchObject({ fieldValues: { FIRST_NAME: 'After' } });
    expect((await graphql(PAGE, { after })).status).toBe(200);
  },
  // Two such waits, and all else on a busy machine.
  REQUEST_LIMITS.lockMsMax * 30,
);
