/** Delivery notifications over REST (specification 4.12; decisions D10, D41), and their twin in GraphQL. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';
import { seedCampaign } from '../support/audience-rows.ts';
import { sentMessage } from '../support/sent-message.ts';

const app = await startRestApp();

async function message(tenant: RestTenant) {
  const { customerId } = tenant;
  const { listId, subscriberIds } = await seedCampaign(app.ctx.db, { subscribers: 1, customerId });
  return sentMessage(app.ctx, { customerId, listId, subscriberId: subscriberIds[0] ?? 0n });
}

async function figures(campaignUid: string, { token }: RestTenant) {
  const { body } = await app.rest(`/campaigns/${campaignUid}`, { token });
  const { bounce_count, abuse_feedback_count, delivered_count } = (body as { statistics: Record<string, unknown> })
    .statistics;
  return [bounce_count, abuse_feedback_count, delivered_count];
}

test('GET and POST take a notification, in every way parameters come; repeats change nothing', async () => {
  const tenant = await app.newTenant();
  const { token } = tenant;
  const sent = await message(tenant);
  const query = new URLSearchParams({
    type: 'bounced',
    message_id: sent.messageId,
    bounced_type: 'hard',
    description: '5.1.1 gone',
  });
  const answers = [
    await app.rest(`/notifications?${query}`, { token }),
    await app.rest('/notifications', { token, method: 'POST', body: query }),
    await app.rest('/notifications', {
      token,
      method: 'POST',
      body: { type: 'BOUNCED', message_id: sent.messageId, bounce_type: 'hard' },
    }),
    await app.rest('/notification/bounce', {
      token,
      method: 'POST',
      body: { message_id: sent.messageId, bounced_type: 'soft' },
    }),
  ];
  for (const { status, body } of answers) {
    expect(status).toBe(200);
    expect(body).toEqual({ status: 1, message: 'The notification was received.' });
  }
  expect(await figures(sent.campaignUid, tenant)).toEqual([1, 0, 0]);
  const log = await app.rest(`/campaigns/${sent.campaignUid}/bounce-log/download`, { token });
  expect(log.text.split('\r\n')[1]).toMatch(/,p1@example\.org,hard,5\.1\.1,5\.1\.1 gone$/);
});

test('complaints have an alias of their own', async () => {
  const tenant = await app.newTenant();
  const { token } = tenant;
  const sent = await message(tenant);
  const body = { message_id: sent.messageId, report_type: 'abuse', description: 'I did not ask for this' };
  expect((await app.rest('/notification/feedback', { token, method: 'POST', body })).status).toBe(200);
  expect(await figures(sent.campaignUid, tenant)).toEqual([0, 1, 1]);
  const log = await app.rest(`/campaigns/${sent.campaignUid}/feedback-log/download`, { token });
  expect(log.text).toContain(',abuse,I did not ask for this');
  const [person] = await queryRows(
    app.ctx.db,
    sql`SELECT status FROM subscriber WHERE customer_id = ${tenant.customerId}`,
  );
  expect(person).toEqual({ status: 'unsubscribed' });
});

test('spam means abuse, as a type and as the type of a complaint (D52)', async () => {
  const tenant = await app.newTenant();
  const { token } = tenant;
  const reports = [
    ['/notifications', { type: 'spam' }],
    ['/notifications', { type: 'Spam', report_type: 'SPAM' }],
    ['/notification/feedback', { type: 'spam', report_type: 'spam ' }],
  ] as const;
  for (const [path, body] of reports) {
    const sent = await message(tenant);
    const answer = await app.rest(path, { token, method: 'POST', body: { ...body, message_id: sent.messageId } });
    expect(answer.status, answer.text).toBe(200);
    expect(await figures(sent.campaignUid, tenant)).toEqual([0, 1, 1]);
    const log = await app.rest(`/campaigns/${sent.campaignUid}/feedback-log/download?type=json`, { token });
    expect(JSON.parse(log.text)).toMatchObject([{ type: 'abuse' }]);
  }
  const sent = await message(tenant);
  const twin = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: 'mutation ($input: ReportDeliveryInput!) { reportDelivery(input: $input) { __typename } }',
      variables: { input: { messageId: sent.messageId, type: 'reported', reportType: 'spam' } },
    }),
  });
  expect(await twin.json()).toEqual({ data: { reportDelivery: { __typename: 'RecordedDeliveryReport' } } });
  const log = await app.rest(`/campaigns/${sent.campaignUid}/feedback-log/download?type=json`, { token });
  expect(JSON.parse(log.text)).toMatchObject([{ type: 'abuse' }]);
});

test('what was reported about a person is shown as deliverability (D54)', async () => {
  const reports = {
    bounced: { type: 'bounced', bounced_type: 'hard' },
    complained: { type: 'abuse' },
    ok: { type: 'bounced' },
  };
  for (const [deliverability, report] of Object.entries(reports)) {
    const tenant = await app.newTenant();
    const { token } = tenant;
    const sent = await message(tenant);
    await app.rest('/notifications', { token, method: 'POST', body: { ...report, message_id: sent.messageId } });
    const { body } = await app.rest('/subscribers/email/p1@example.org', { token });
    expect(body).toMatchObject({ subscribers: [{ deliverability }] });
  }
});

test('an unknown message is a 404, another tenant’s a 403, a stranger gets a 401, wrong words are named', async () => {
  const [tenant, other] = [await app.newTenant(), await app.newTenant()];
  const sent = await message(tenant);
  const ask = (values: Record<string, string>, token: string | null = tenant.token) =>
    app.rest(`/notifications?${new URLSearchParams(values)}`, { token });
  expect((await ask({ message_id: 'no-such-id', type: 'abuse' })).status).toBe(404);
  expect((await ask({ message_id: sent.messageId, type: 'abuse' }, other.token)).status).toBe(403);
  expect((await ask({ message_id: sent.messageId, type: 'abuse' }, null)).status).toBe(401);
  const wrong = await ask({ type: 'vanished', bounced_type: 'medium' });
  expect(wrong.status).toBe(422);
  expect(Object.keys((wrong.body as { errors: object }).errors)).toEqual(['message_id', 'type', 'bounced_type']);
  expect(await figures(sent.campaignUid, tenant)).toEqual([0, 0, 1]);
});

test('GraphQL does the same to the same rows', async () => {
  const tenant = await app.newTenant();
  const sent = await message(tenant);
  const query = `mutation ($input: ReportDeliveryInput!) { reportDelivery(input: $input) { __typename ... on RecordedDeliveryReport { type changed } ... on Error { message } } }`;
  const report = async () => {
    const variables = { input: { messageId: sent.messageId, type: 'bounced', bounceType: 'hard' } };
    const answer = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
      body: JSON.stringify({ query, variables }),
    });
    return (await answer.json()).data.reportDelivery;
  };
  expect(await report()).toEqual({ __typename: 'RecordedDeliveryReport', type: 'bounced', changed: true });
  expect(await report()).toMatchObject({ changed: false });
  expect(await figures(sent.campaignUid, tenant)).toEqual([1, 0, 0]);
});
