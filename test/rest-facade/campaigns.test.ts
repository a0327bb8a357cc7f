/** Campaigns over REST, in both dialects, with what existing clients read and match on. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';

const app = await startRestApp();
const tenant = await app.newTenant();
const classic = await app.newTenant({ restDialect: 'classic' });
const UID = /^[0-9a-f]{13}$/;

async function listOf({ customerId }: { customerId: bigint }): Promise<string> {
  const uid = newUid();
  await app.ctx.db.execute(sql`
    WITH l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name, remind_message)
               VALUES (${customerId}, ${uid}, 'Friends', 'News', 'news@sender.example', 'Sender', 'You asked for it.') RETURNING customer_id, id)
    INSERT INTO list_contact (customer_id, list_id, company, address_1, country_id, email) SELECT customer_id, id, 'Acme', '1 High St', 1, 'o@x.co' FROM l`);
  return uid;
}

async function serverOf({ customerId }: { customerId: bigint }): Promise<void> {
  await app.ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings)
    VALUES (${customerId}, ${newUid()}, 'Server', 'smtp', '{"host": "127.0.0.1", "port": 1, "encryption": "none"}')`);
}

const listUid = await listOf(tenant);
await app.ctx.db.execute(sql`
  INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
  SELECT customer_id, id, 'ann@example.org', 'ann@example.org', 'subscribed', '{}', '{}' FROM mail_list WHERE uid = ${listUid}`);
await serverOf(tenant);
const fields = {
  name: 'Spring',
  subject: 'Hello {FIRST_NAME}',
  from_email: 'news@sender.example',
  from_name: 'Sender',
  html: '<p>Hi</p>',
};
const ask = (path: string, method = 'GET', body?: unknown): Promise<RestAnswer> =>
  app.rest(path, { method, body, token: tenant.token });

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function newCampaign(more: Record<string, unknown> = {}): Promise<string> {
  const { body } = await ask('/campaigns', 'POST', { list_uid: listUid, ...fields, ...more });
  return (body as { campaign_uid: string }).campaign_uid;
}

describe('creating', () => {
  test.each([
    ['what is missing or wrong', { name: '', from_email: 'x', reply_to: 'y', html: '' }],
    ['a template', { from_name: '{% zzz %}' }],
    [
      'routing',
      { sending_servers: [{ uid: '', weight: 0 }], quiet_hours: { from: 'x', to: '08:00' }, local_time: '9' },
    ],
    ['a time', { delivery_at: '2999-01-01 00:00:00' }],
    ['a segment', { segment_uid: 'x'.repeat(65) }],
  ])('names the faults of %s by the parameter, and in GraphQL by its own field', async (_, wrong) => {
    const { body } = await ask('/campaigns', 'POST', { list_uid: listUid, ...fields, ...wrong });
    const { list_uid: _listUid, ...words } = { list_uid: listUid, ...fields, ...wrong };
    const input = Object.fromEntries(Object.entries(words).map(([name, value]) => [camelCase(name), value]));
    if (input['deliveryAt']) input['deliveryAt'] = '2999-01-01T00:00:00Z';
    const query = `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) {
      ... on ValidationError { fields { field messages } } } }`;
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
      body: JSON.stringify({ query, variables: { input: { listUid, ...input } } }),
    });
    const { data } = (await response.json()) as {
      data: { createCampaign: { fields: { field: string; messages: string[] }[] } };
    };
    const { errors } = body as { errors: Record<string, string[]> };
    expect(Object.keys(errors).length).toBeGreaterThan(0);
    expect(data.createCampaign.fields).toEqual(
      Object.entries(errors).map(([name, messages]) => ({ field: camelCase(name), messages })),
    );
  });

  test('tells the faults of all templates at once, with their lines', async () => {
    const broken = {
      subject: '{% if %}',
      html: '<p>one</p>\n{{ x | nofilter }}',
      plain: '{{ unclosed',
      from_name: '{% zzz %}',
    };
    const { status, body } = await ask('/campaigns', 'POST', { list_uid: listUid, ...fields, ...broken });
    expect(status).toBe(422);
    expect(body).toMatchObject({ message: 'The given data was invalid.' });
    const { errors } = body as { errors: Record<string, string[]> };
    expect(Object.keys(errors).toSorted()).toEqual(['from_name', 'html', 'plain', 'subject']);
    expect(errors['html']).toEqual(['Line 2: undefined filter: nofilter.']);
  });

  test('answers every name that clients look under', async () => {
    const { status, body } = await ask('/campaigns', 'POST', { list_uid: listUid, ...fields, track_open: '0' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 1,
      message: 'Campaign was successfully created',
      campaign_uid: expect.stringMatching(UID),
    });
    const { campaign_uid: uid, campaign } = body as { campaign_uid: string; campaign: unknown };
    expect(body).toMatchObject({ attributes: { uid } });
    expect(campaign).toMatchObject({
      uid,
      status: 'ready',
      track_open: false,
      list: 'Friends',
      links: { self: `/api/v1/campaigns/${uid}` },
    });
  });

  test('takes the names that older clients use, and answers them 200', async () => {
    const { name, subject: default_subject, ...rest } = fields;
    const input = {
      mail_list_uid: await listOf(classic),
      name,
      default_subject,
      ...rest,
      run_at: '2030-01-31 08:00:00',
    };
    const { status, body } = await app.rest('/campaigns', {
      method: 'POST',
      body: new URLSearchParams(input),
      token: classic.token,
    });
    expect(status).toBe(200);
    const { campaign_uid: uid } = body as { campaign_uid: string };
    expect(body).toMatchObject({ attributes: { uid }, campaign: { uid } });
    expect(body).toMatchObject({ campaign: { delivery_at: '2030-01-31 08:00:00', subject: fields.subject } });
  });

  test('says of every field what is wrong', async () => {
    const { status, body } = await ask('/campaigns', 'POST', {});
    expect(status).toBe(422);
    const { errors, message } = body as { errors: Record<string, string[]>; message: string };
    expect(message).toBe('The given data was invalid.');
    expect(Object.keys(errors).toSorted()).toEqual(['from_email', 'from_name', 'html', 'list_uid', 'name', 'subject']);
  });

  test.each([
    ['subject', 'a\r\nBcc: evil@example.com'],
    ['subject', 'x'.repeat(999)],
    ['from_name', 'Evil\nBcc: x@example.com'],
    ['from_email', 'a@b.example\r\nBcc: x@example.com'],
    ['from_email', 'no address'],
    ['reply_to', 'x@example.com, y@example.com'],
    ['name', '\0'],
    ['name', '\ud800'],
    ['html', 'x'.repeat(20_000_000)],
    ['track_open', 'perhaps'],
    ['delivery_at', 'tomorrow'],
    ['delivery_at', '9999-01-01 00:00:00'],
    ['html', '{{ "x" | unclosed'],
    // What is known but cannot be obeyed is refused (decision D53).
    ['type', 'plain-text'],
  ])('refuses %s when it is hostile', async (name, value) => {
    const { status, body } = await ask('/campaigns', 'POST', { list_uid: listUid, ...fields, [name]: value });
    expect([413, 422]).toContain(status);
    if (status === 422) expect(Object.keys((body as { errors: object }).errors).join()).toContain(name);
  });

  test('to a list of somebody else is a 403, to none a 404', async () => {
    expect((await ask('/campaigns', 'POST', { ...fields, list_uid: await listOf(classic) })).status).toBe(403);
    expect((await ask('/campaigns', 'POST', { ...fields, list_uid: 'ffffffffffff0' })).status).toBe(404);
  });
});

describe('reading', () => {
  test('gives the campaign and its figures', async () => {
    const { status, body } = await ask(`/campaigns/${await newCampaign()}`);
    expect(status).toBe(200);
    const { campaign, statistics } = body as { campaign: object; statistics: object };
    expect(campaign).toMatchObject({
      default_subject: fields.subject,
      list: 'Friends',
      segment: null,
      remind_message: 'You asked for it.',
    });
    expect(statistics).toEqual({
      subscriber_count: 0,
      ...{ pending_count: 0, sent_count: 0, failed_count: 0, skipped_count: 0, suppressed_count: 0, unknown_count: 0 },
      delivered_count: 0,
      delivered_rate: 0,
      open_count: 0,
      uniq_open_count: 0,
      uniq_open_rate: 0,
      last_open: null,
      click_count: 0,
      click_rate: 0,
      click_per_uniq_open: 0,
      last_click: null,
      ...{ human_open_count: 0, human_uniq_open_count: 0, human_uniq_open_rate: 0, human_click_count: 0 },
      ...{ human_uniq_click_count: 0, human_click_rate: 0, machine_open_count: 0, machine_click_count: 0 },
      ...{ implied_open_count: 0 },
      abuse_feedback_count: 0,
      bounce_count: 0,
      unsubscribe_count: 0,
      links: [],
      top_locations: [],
      top_open_subscribers: [],
    });
  });

  test('one that waits for its server says so, over both entry points, until the server is well again', async () => {
    const uid = await newCampaign({ name: 'Waiting' });
    const reasons = async () => {
      const query = `query { campaign(uid: "${uid}") { ... on Campaign { statistics { statusReason } } } }`;
      const response = await fetch(`${app.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
        body: JSON.stringify({ query }),
      });
      const told = (await response.json()) as { data: { campaign: { statistics: { statusReason: string | null } } } };
      const { campaign } = (await ask(`/campaigns/${uid}`)).body as { campaign: { status_reason: string | null } };
      return [campaign.status_reason, told.data.campaign.statistics.statusReason];
    };
    await app.ctx.db.execute(
      sql`UPDATE campaign SET status = 'sending', snapshot_on = current_date WHERE uid = ${uid}`,
    );
    await app.ctx.db.execute(sql`
      INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) SELECT customer_id, 1, id, 1, 1 FROM campaign WHERE uid = ${uid}`);
    await app.ctx.db.execute(sql`
      INSERT INTO hot.sending_health (server_id, mailbox_group, state, failures, opened_at, open_until, last_error)
      SELECT id, '', 'open', 3, '2026-01-02 03:04:05Z', '2096-01-02 03:04:05Z', 'refused' FROM sending_server WHERE customer_id = ${tenant.customerId}`);
    const said =
      'Sending server "Server" cannot be used since 2026-01-02 03:04:05 UTC (refused): it is tried again at 2096-01-02 03:04:05 UTC.';
    expect(await reasons()).toEqual([said, said]);
    await app.ctx.db.execute(sql`DELETE FROM hot.sending_health`);
    expect(await reasons()).toEqual([null, null]);
    await app.ctx.db.execute(sql`UPDATE campaign SET status = 'paused' WHERE uid = ${uid}`);
  });

  test('an index is a paginator in one dialect and an array in the other', async () => {
    const standard = await ask('/campaigns?per_page=2&page=1');
    expect(standard.body).toMatchObject({ data: [{ type: 'regular' }, {}], meta: { current_page: 1, per_page: 2 } });
    const older = await app.rest('/campaigns?page=0', { token: classic.token });
    expect(older.body).toMatchObject([{ name: 'Spring', html: '<p>Hi</p>', delivery_at: '2030-01-31 08:00:00' }]);
    expect((await ask('/campaigns?page=999999')).body).toMatchObject({ data: [] });
  });

  test("somebody else's is a 403, an unknown one a 404", async () => {
    const uid = await newCampaign();
    expect((await app.rest(`/campaigns/${uid}`, { token: classic.token })).status).toBe(403);
    for (const unknown of ['ffffffffffff0', 'x', '%00', "'%20OR%201=1"])
      expect([404, 422]).toContain((await ask(`/campaigns/${unknown}`)).status);
  });
});

describe('changing', () => {
  test('writes what is given and leaves the rest', async () => {
    const uid = await newCampaign();
    const { status, body } = await ask(`/campaigns/${uid}`, 'PATCH', { subject: 'Other', track_click: 'no' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 1, message: 'Campaign was successfully updated', campaign_uid: uid });
    expect((body as { campaign: object }).campaign).toMatchObject({
      subject: 'Other',
      name: 'Spring',
      track_click: false,
    });
  });

  test('never writes what is not documented', async () => {
    const uid = await newCampaign();
    const row = () =>
      queryRows(
        app.ctx.db,
        sql`SELECT to_jsonb(c) - 'name' - 'updated_at' - 'content_version' AS row FROM campaign c WHERE uid = ${uid}`,
      );
    const before = await row();
    const columns = {
      id: 1,
      uid: 'x',
      customer_id: 1,
      customerId: 1,
      status: 'done',
      snapshot_on: '2020-01-01',
      snapshot_cursor: 9,
      list_id: 1,
      created_at: '2020-01-01',
    };
    await ask(`/campaigns/${uid}`, 'PATCH', { ...columns, name: 'Renamed' });
    expect(await row()).toEqual(before);
  });
});

describe('running', () => {
  test('goes from ready to queued, paused and on', async () => {
    const uid = await newCampaign();
    const run = await ask(`/campaigns/${uid}/run`, 'POST');
    expect(run.body).toMatchObject({
      status: 'success',
      message: 'The campaign was launched',
      campaign: { uid, status: 'queued' },
    });
    expect((await ask(`/campaigns/${uid}`, 'PATCH', { subject: 'Late' })).body).toMatchObject({
      errors: { status: [expect.any(String)] },
    });
    expect((await ask(`/campaigns/${uid}`, 'DELETE')).status).toBe(422);
    const pause = await ask(`/campaigns/${uid}/pause`);
    expect(pause.body).toMatchObject({
      status: 'success',
      message: 'The campaign was paused',
      campaign: { status: 'paused' },
    });
    expect((await ask(`/campaigns/${uid}/pause`, 'POST')).status).toBe(422);
    const resume = await ask(`/campaigns/${uid}/resume`, 'POST');
    expect(resume.body).toMatchObject({ status: 'success', message: 'The campaign was resumed' });
    await ask(`/campaigns/${uid}/pause`, 'POST');
    expect((await ask(`/campaigns/${uid}`, 'DELETE')).body).toMatchObject({ status: 1, message: 'Deleted' });
    expect((await ask(`/campaigns/${uid}`)).status).toBe(404);
  });

  test('with a time ahead is scheduled', async () => {
    const uid = await newCampaign();
    const { body } = await ask(`/campaigns/${uid}/send`, 'POST', { run_at: '2030-05-01 10:00:00' });
    expect(body).toMatchObject({ campaign: { status: 'scheduled', delivery_at: '2030-05-01 10:00:00' } });
  });

  test('without what it needs says what is missing', async () => {
    const uid = await newCampaign();
    await ask(`/campaigns/${uid}`, 'PATCH', { subject: '', from_name: '' });
    const { status, body } = await ask(`/campaigns/${uid}/run`, 'POST');
    expect(status).toBe(422);
    expect(Object.keys((body as { errors: object }).errors)).toEqual(expect.arrayContaining(['subject', 'from_name']));
    const serverless = (await app.rest('/campaigns', { token: classic.token })).body as { uid: string }[];
    const run = await app.rest(`/campaigns/${serverless[0]?.uid}/run`, { method: 'POST', token: classic.token });
    expect(run.body).toMatchObject({ errors: { sending_server: [expect.any(String)] } });
  });

  test('takes many callers at once and starts once', async () => {
    const uid = await newCampaign();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(`/campaigns/${uid}/run`, 'POST')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(19);
  });
});

test('a token needs the scope', async () => {
  const reader = await app.newTenant({ scopes: ['campaigns:read'] });
  expect((await app.rest('/campaigns', { token: reader.token })).status).toBe(200);
  const body = { ...fields, list_uid: await listOf(reader) };
  expect((await app.rest('/campaigns', { method: 'POST', body, token: reader.token })).status).toBe(403);
  const other = await app.newTenant({ scopes: ['lists:read'] });
  expect((await app.rest('/campaigns', { token: other.token })).status).toBe(403);
});
