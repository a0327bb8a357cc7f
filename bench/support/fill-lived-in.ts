/**
 * Fills a database as months of use would have: customers, people with fields, tags and consent, campaigns with their
 * ledgers, opens, clicks, unsubscribes and bounces, and every counter beside them as the product itself would have written
 * it. A few large statements; what varies follows from hashes of ids, so the same scale makes the same rows.
 */
import pg from 'pg';
import { campaignSteps, fillCampaigns } from './lived-in-campaigns.ts';
import { LARGE_LIST, SECOND_LIST, uid, type LivedInSizes, type Step } from './lived-in-sizes.ts';

/** Fills a database whose tables were made by the product and which has the operator's account only. */
export async function fillLivedIn(url: string, sizes: LivedInSizes, say: (line: string) => void): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const startedAt = performance.now();
  const told = (name: string) => say(`  ${name}: ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  const run = async (steps: readonly Step[]) => {
    for (const [name, statement] of steps) {
      await client.query(statement);
      told(name);
    }
  };
  try {
    // What a transaction has emptied it fills without a write-ahead log: half the time.
    await client.query('BEGIN');
    // It knows nothing of tables that are being filled, and takes them for small.
    await client.query('SET LOCAL enable_nestloop = off');
    await client.query('SET LOCAL jit = off');
    await client.query(`TRUNCATE ${FILLED.join()}`);
    await run([...HELPERS, ...accountSteps(sizes), ...peopleSteps(sizes), ...campaignSteps(sizes)]);
    await fillCampaigns(client, told);
    await client.query('COMMIT');
    await analyze(client);
    told('statistics');
  } finally {
    await client.end();
  }
}

/** The largest. */
const FILLED = [
  ...['subscriber', 'consent_event', 'hot.subscriber_activity', 'hot.delivery', 'hot.open_event', 'hot.click_event'],
  ...['hot.recipient_activity', 'hot.recipient_link', 'hot.location_counter', 'hot.audit_event'],
];

const SMALL_LIST = 'People';

/** Of a hundred people; the rest of them waits for its confirmation. */
const SUBSCRIBED = 91;
const UNSUBSCRIBED = 5;
const UNCONFIRMED = 1;

const OPERATOR = '(SELECT min(id) FROM customer)';

const HELPERS: readonly Step[] = [
  [
    'helpers',
    // A number below `of` that follows from an id; `no` tells the draws apart.
    `CREATE FUNCTION pg_temp.pick(id bigint, no bigint, of integer) RETURNS integer LANGUAGE sql IMMUTABLE
     RETURN ((hashint8extended(id, no) & 2147483647) % of)::integer`,
  ],
  [
    'helpers',
    // The address of the nth person.
    `CREATE FUNCTION pg_temp.address(n bigint) RETURNS text LANGUAGE sql IMMUTABLE
     RETURN 'person' || n || '@mail' || n % 97 || '.example'`,
  ],
];

function accountSteps({ customers }: LivedInSizes): Step[] {
  return [
    [
      'customers',
      `WITH made AS (
         INSERT INTO customer (uid, name, created_at)
         SELECT ${uid(`'customer' || n`)}, 'Customer ' || n, now() - make_interval(days => 400 - n % 400)
           FROM generate_series(1, ${customers}) n RETURNING id),
       users AS (
         INSERT INTO app_user (customer_id, uid, email, email_key, first_name, password_hash)
         SELECT id, ${uid(`'user' || id`)}, 'owner' || id || '@customer.example', 'owner' || id || '@customer.example', 'Owner', '-'
           FROM made RETURNING customer_id, id),
       tokens AS (
         INSERT INTO api_token (customer_id, uid, user_id, kind, name, digest, scopes)
         SELECT customer_id, ${uid(`'token' || id`)}, id, 'primary', 'Primary', sha256(convert_to('token' || id, 'UTF8')), ARRAY['*'] FROM users),
       plans AS (
         INSERT INTO plan (uid, name, price_minor, currency_code, frequency_amount, frequency_unit, options)
         VALUES (${uid(`'plan'`)}, 'Basic', 1000, 'EUR', 1, 'month', '{"sending_server_option": "own"}') RETURNING id)
       INSERT INTO subscription (customer_id, uid, plan_id, status, disable_billing, current_period_started_at, current_period_ends_at)
       SELECT m.id, ${uid(`'subscription' || m.id`)}, p.id, 'active', true, now(), now() + interval '1 month' FROM made m, plans p`,
    ],
    [
      'audit trail',
      `INSERT INTO hot.audit_event (customer_id, at, actor_customer_id, user_uid, operation, target_uid, fields, entry_point)
       SELECT c.id, now() - make_interval(days => n), c.id, ${uid(`'user' || c.id`)}, 'updateCampaign', ${uid(`'campaign' || n`)},
              ARRAY['name', 'html'], 'rest'
         FROM customer c, generate_series(1, 30) n ORDER BY n DESC, c.id`,
    ],
  ];
}

function peopleSteps({ largeList, secondList, peopleEach, suppressed }: LivedInSizes): Step[] {
  // As lists grow: an import's people are neighbours, those who came one by one lie among the people of other lists.
  const [early, few] = [Math.round((largeList * 2) / 3), Math.round(peopleEach / 2)];
  const spacing = Math.max(1, Math.floor(largeList / suppressed));
  return [
    [
      'lists',
      `WITH made AS (
         INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
         SELECT c.id, ${uid(`'list' || c.id || called`)}, called, 'News', 'news@shop.example', 'Shop' FROM customer c,
                unnest(CASE WHEN c.is_operator THEN ARRAY['${LARGE_LIST}', '${SECOND_LIST}'] ELSE ARRAY['${SMALL_LIST}'] END) called
         RETURNING customer_id, id),
       contacts AS (
         INSERT INTO list_contact (customer_id, list_id, company, address_1, city, country_id, email)
         SELECT customer_id, id, 'Shop', '1 High Street', 'Springfield', 1, 'shop@shop.example' FROM made),
       fields AS (
         INSERT INTO list_field (customer_id, uid, list_id, type, label, tag)
         SELECT m.customer_id, ${uid(`f.tag || m.id`)}, m.id, f.type, f.tag, f.tag FROM made m,
                (VALUES ('text', 'FIRST_NAME'), ('text', 'LAST_NAME'), ('text', 'CITY'), ('datetime', 'BORN'), ('number', 'SCORE')) f (type, tag))
       INSERT INTO list_tag (customer_id, list_id, name_key, name)
       SELECT customer_id, id, 'tag ' || t, 'Tag ' || t FROM made, generate_series(1, 12) t`,
    ],
    ['people of small lists', addPeople(`l.name = '${SMALL_LIST}' AND n <= ${few}`, few)],
    ['people of the large list', addPeople(`l.name = '${LARGE_LIST}'`, early)],
    ['people of the second list', addPeople(`l.name = '${SECOND_LIST}'`, secondList)],
    [
      'people who came later',
      addPeople(
        `(l.name = '${LARGE_LIST}' AND n > ${early}) OR (l.name = '${SMALL_LIST}' AND n > ${few} AND n <= ${peopleEach})`,
        largeList,
      ),
    ],
    [
      'consent',
      `INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source, at)
       SELECT customer_id, list_id, id, status, CASE status WHEN 'unsubscribed' THEN 'one-click' ELSE source END, created_at
         FROM subscriber WHERE status <> 'subscribed' OR pg_temp.pick(id, 5, 10) = 0 ORDER BY created_at`,
    ],
    [
      'suppressions',
      `INSERT INTO suppression (customer_id, email_key, reason, created_at)
       SELECT CASE WHEN n % 10 = 0 THEN 0 ELSE ${OPERATOR} END,
              CASE WHEN n % 2 = 0 THEN pg_temp.address(n * ${spacing}) ELSE 'gone' || n || '@mail' || n % 97 || '.example' END,
              CASE n / 2 % 3 WHEN 0 THEN 'manual' WHEN 1 THEN 'complaint' ELSE 'bounce' END,
              now() - make_interval(hours => pg_temp.pick(n, 6, 2600))
         FROM generate_series(1, ${suppressed}) n`,
    ],
  ];
}

/** Every second person of the large list is on the second one as well; small lists share nobody. */
function addPeople(which: string, numbersMax: number): string {
  return `
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, source, fields, tags, created_at, updated_at, pending_until)
    SELECT customer_id, list_id, address, address, status, 'import:' || ${uid('list_id::text')},
           jsonb_build_object('FIRST_NAME', 'Name' || n % 5000, 'LAST_NAME', 'Last' || n % 20000, 'CITY', 'City ' || pg_temp.pick(n, 11, 300),
             'BORN', to_char(date '1950-01-01' + pg_temp.pick(n, 12, 20000), 'YYYY-MM-DD'), 'SCORE', pg_temp.pick(n, 13, 1000)),
           ARRAY(SELECT 'Tag ' || t FROM generate_series(1, 12) t WHERE pg_temp.pick(n, 20 + t, 8 * t) = 0),
           joined_at, joined_at, CASE status WHEN 'pending' THEN now() + interval '30 days' END
      FROM (SELECT l.customer_id, l.id AS list_id, n, d.joined_at,
                   pg_temp.address(CASE l.name WHEN '${LARGE_LIST}' THEN n WHEN '${SECOND_LIST}' THEN n * 2 ELSE 10000000 + l.id * 1000 + n END) AS address,
                   CASE WHEN d.s < ${SUBSCRIBED} THEN 'subscribed' WHEN d.s < ${SUBSCRIBED + UNSUBSCRIBED} THEN 'unsubscribed'
                        WHEN d.s < ${SUBSCRIBED + UNSUBSCRIBED + UNCONFIRMED} THEN 'unconfirmed' ELSE 'pending' END AS status
              FROM generate_series(1, ${numbersMax}) n JOIN mail_list l ON ${which},
                   LATERAL (SELECT pg_temp.pick(n * 31 + l.id, 1, 100) AS s, now() - make_interval(hours => 3000 + pg_temp.pick(n, 3, 9000)) AS joined_at) d) p
     ORDER BY pg_temp.pick(n, 8, 1000000), list_id`;
}

/** As autovacuum leaves tables: each looked at by itself, the parents of partitions never. */
async function analyze(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND n.nspname IN ('public', 'hot') AND c.relpages + pg_relation_size(c.oid) > 0 ORDER BY 1`,
  );
  for (const { name } of rows) await client.query(`VACUUM (ANALYZE) ${name}`);
  await client.query('CHECKPOINT');
}
