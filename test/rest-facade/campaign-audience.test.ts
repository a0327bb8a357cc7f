/** A campaign to nobody is refused, and one that finds nobody at its time ends as `error` (decision D56); REST and GraphQL. */
import { describe, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const { db } = app.ctx;
const owner = await app.newTenant();
const { call, newList, newCampaign, add, done, statusOf } = mailWorld(app, owner);
const REFUSAL = (of: string) =>
  `Nobody would get this campaign: the ${of} has no person who is subscribed and not suppressed. Add people or choose another audience.`;

type List = { uid: string; id: bigint };

/** What each list without an audience has. */
const audiences: Record<string, (list: List) => Promise<unknown>> = {
  'an empty list': async () => undefined,
  'people who have not confirmed': async (list) => {
    await add(list, 'ann@nobody.example');
    await db.execute(sql`UPDATE subscriber SET status = 'unconfirmed' WHERE list_id = ${list.id}`);
  },
  'people who are suppressed': async (list) => {
    await add(list, 'bob@nobody.example');
    await call('POST', '/suppressions', { email: 'bob@nobody.example' });
  },
};

async function startInGraphql(uid: string, token = owner.token) {
  const query = `mutation { startCampaign(uid: "${uid}") {
    ... on ValidationError { code fields { field messages } } ... on Campaign { status } } }`;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  const { data } = (await response.json()) as { data: { startCampaign: object } };
  return data.startCampaign;
}

describe.each(Object.entries(audiences))('a campaign to %s', (_, fill) => {
  test('is refused by REST and GraphQL, names the audience, and goes when there is somebody', async () => {
    const list = await newList();
    await fill(list);
    const uid = await newCampaign(list);
    const run = await call('POST', `/campaigns/${uid}/run`);
    expect(run).toMatchObject({ status: 422, body: { errors: { audience: [REFUSAL('list')] } } });
    expect(await startInGraphql(uid)).toEqual({
      code: 'CAMPAIGN_NOT_READY',
      fields: [{ field: 'audience', messages: [REFUSAL('list')] }],
    });
    expect(await statusOf(uid)).toBe('ready');
    await add(list, 'cleo@somebody.example');
    expect((await call('POST', `/campaigns/${uid}/run`)).status).toBe(200);
    await done(uid);
  });
});

test('the same in the classic dialect', async () => {
  const classic: RestTenant = await app.newTenant({ restDialect: 'classic' });
  const other = mailWorld(app, classic);
  const list = await newList(classic);
  const body = {
    list_uid: list.uid,
    name: 'N',
    subject: 'S',
    from_email: 'a@b.example',
    from_name: 'F',
    html: '<p>x</p>',
  };
  const uid = String(field(await other.call('POST', '/campaigns', body), 'campaign_uid'));
  expect(await other.call('POST', `/campaigns/${uid}/run`)).toMatchObject({
    status: 422,
    body: { errors: { audience: [REFUSAL('list')] } },
  });
});

test('a segment that picks nobody who may be mailed is nobody', async () => {
  const list = await newList();
  await add(list, 'ann@segment.example', { tag: 'vip' });
  await add(list, 'bob@segment.example');
  const rule = { tags: { hasAny: ['vip'] } };
  const segment = await call('POST', `/lists/${list.uid}/segments`, { name: 'VIPs', rule });
  const uid = await newCampaign(list, { segment_uid: field(segment, 'segment_uid') });
  await call('POST', '/suppressions', { email: 'ann@segment.example' });
  expect(await call('POST', `/campaigns/${uid}/run`)).toMatchObject({
    status: 422,
    body: { errors: { audience: [REFUSAL('segment')] } },
  });
});

test('one that is scheduled and finds nobody ends as error with the reason, and can be run again', async () => {
  const list = await newList();
  const uid = await newCampaign(list);
  const at = new Date(Date.now() + 3_600_000).toISOString();
  // A list may be filled until then.
  expect((await call('POST', `/campaigns/${uid}/run`, { delivery_at: at })).body).toMatchObject({
    campaign: { status: 'scheduled' },
  });
  const soon = new Date(Date.now() + 4_000).toISOString();
  expect((await call('PATCH', `/campaigns/${uid}`, { delivery_at: soon })).status).toBe(200);
  await until(async () => ((await statusOf(uid)) === 'error' ? true : undefined));
  expect((await call('GET', `/campaigns/${uid}`)).body).toMatchObject({
    campaign: { status_reason: `${REFUSAL('list')} Then run it again.` },
  });
  expect((await call('POST', `/campaigns/${uid}/run`)).body).toMatchObject({ errors: { audience: [REFUSAL('list')] } });
  await add(list, 'ann@later.example');
  expect((await call('POST', `/campaigns/${uid}/run`)).body).toMatchObject({ campaign: { status_reason: null } });
  await done(uid);
});

test('of a long list a part is looked at: when that does not decide, the snapshot does', async () => {
  const list = await newList();
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
    SELECT ${owner.customerId}, ${list.id}, 'p' || n || '@long.example', 'p' || n || '@long.example', 'unsubscribed', '{}', '{}'
      FROM generate_series(1, 100001) n`);
  const uid = await newCampaign(list);
  // Nobody is subscribed: counted already.
  expect((await call('POST', `/campaigns/${uid}/run`)).status).toBe(422);
  await add(list, 'last@long.example');
  expect((await call('POST', `/campaigns/${uid}/run`)).status).toBe(200);
  await done(uid);
});
