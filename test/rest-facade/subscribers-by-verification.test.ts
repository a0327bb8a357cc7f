/** Indexes of people by what a verifier has said: pages, totals and connections, on one list and on all. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;
const tenant = await app.newTenant();
const { call, newList } = mailWorld(app, tenant);
const WORDS = ['deliverable', 'undeliverable', 'risky', 'unknown', null] as const;
const PEOPLE = 5_000;

/** Every fifth has the same result; of each fifth one. */
async function fill(list: { id: bigint }, customerId: bigint, people: number, prefix = 'p') {
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, verification, verified_at, verified_by)
    SELECT ${customerId}, ${list.id}, ${prefix} || n || '@x.example', ${prefix} || n || '@x.example', 'subscribed', '{}',
           (${[...WORDS]}::text[])[n % 5 + 1], CASE WHEN n % 5 < 4 THEN now() END, CASE WHEN n % 5 < 4 THEN 'address-check' END
      FROM generate_series(0, ${people - 1}::int) n ORDER BY n`);
}

const list = await newList();
const other = await newList();
await fill(list, tenant.customerId, PEOPLE);
await fill(other, tenant.customerId, 10, 'o');
const stranger = await app.newTenant();
await fill(await newList(stranger), stranger.customerId, 10, 's');

async function page(path: string) {
  const { status, body, text } = await call('GET', path);
  expect(status, text).toBe(200);
  const { data, meta } = body as { data: { email: string }[]; meta: { total: number } };
  return { emails: data.map(({ email }) => email), total: meta.total };
}

test.each(WORDS.map((word, index) => [word ?? 'unverified', index] as const))(
  '%s: the first page, a late one, and the total',
  async (word, index) => {
    const of = `/lists/${list.uid}/subscribers?verification=${word}&per_page=3`;
    const names = (from: number) => [0, 1, 2].map((no) => `p${(from + no) * 5 + index}@x.example`);
    expect(await page(of)).toEqual({ emails: names(0), total: PEOPLE / 5 });
    expect(await page(`${of}&page=300`)).toEqual({ emails: names(897), total: PEOPLE / 5 });
    expect(await page(`${of}&page=400`)).toEqual({ emails: [], total: PEOPLE / 5 });
    expect((await page(`/subscribers?verification=${word}&per_page=3`)).total).toBe(PEOPLE / 5 + 2);
  },
);

test('with opens: those who did both', async () => {
  const [person] = await queryRows<{ id: bigint }>(
    db,
    sql`SELECT id FROM subscriber WHERE list_id = ${list.id} AND email = 'p6@x.example'`,
  );
  await db.execute(sql`
    INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at) VALUES (${tenant.customerId}, ${list.id}, ${person?.id ?? 0n}, now())`);
  const of = `/lists/${list.uid}/subscribers?per_page=2`;
  expect(await page(`${of}&open=yes&verification=undeliverable`)).toEqual({ emails: ['p6@x.example'], total: 1 });
  expect(await page(`${of}&open=yes&verification=risky`)).toEqual({ emails: [], total: 0 });
  expect(await page(`${of}&open=no&verification=undeliverable`)).toEqual({
    emails: ['p1@x.example', 'p11@x.example'],
    total: PEOPLE / 5 - 1,
  });
});

test('GraphQL takes several words, by key too', async () => {
  const query = `query ($uid: String!, $words: [VerificationState!]) {
    list(uid: $uid) { ... on MailList { subscribers(first: 3, verification: $words) { totalCount nodes { email } } } }
    subscribers(last: 2, verification: $words) { ... on SubscriberConnection { totalCount nodes { email } } } }`;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
    body: JSON.stringify({ query, variables: { uid: list.uid, words: ['unverified', 'unknown'] } }),
  });
  expect(await response.json()).toMatchObject({
    data: {
      list: {
        subscribers: {
          totalCount: (PEOPLE / 5) * 2,
          nodes: [{ email: 'p3@x.example' }, { email: 'p4@x.example' }, { email: 'p8@x.example' }],
        },
      },
      subscribers: { totalCount: (PEOPLE / 5) * 2 + 4, nodes: [{ email: 'o8@x.example' }, { email: 'o9@x.example' }] },
    },
  });
});

test('another word is refused', async () => {
  const refused = await call('GET', `/lists/${list.uid}/subscribers?verification=bad`);
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('verification');
});
