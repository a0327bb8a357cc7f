/** Campaigns over GraphQL: made, changed and run by verbs; deliveries by key; figures without a statement per row. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid, subscriberUid } from '../../src/lib/ids.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

const app = await startGraphqlApp();
const tenant = await app.newCustomer();
const listUid = newUid();
await app.ctx.db.execute(sql`
  WITH l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
             VALUES (${tenant.customerId}, ${listUid}, 'Friends', 'News', 'news@sender.example', 'Sender') RETURNING customer_id, id)
  INSERT INTO list_contact (customer_id, list_id, company, address_1, country_id, email) SELECT customer_id, id, 'Acme', '1 High St', 1, 'o@x.co' FROM l`);

const CREATE = `mutation ($input: CreateCampaignInput!) {
  createCampaign(input: $input) {
    __typename
    ... on Campaign { uid status list { name } listName statistics { subscriberCount } }
    ... on ValidationError { fields { field messages } }
    ... on Error { code message }
  }
}`;
const content = {
  listUid,
  name: 'Spring',
  subject: 'Hello',
  fromEmail: 'news@sender.example',
  fromName: 'Sender',
  html: '<p>Hi</p>',
};
const run = (query: string, variables: Record<string, unknown> = {}) => app.run(query, variables, tenant.token);

async function newCampaign(): Promise<string> {
  const { data } = await run(CREATE, { input: content });
  return (data['createCampaign'] as { uid: string }).uid;
}

/** Deliveries as sending leaves them behind. */
async function fillLedger(uid: string, states: readonly string[]): Promise<void> {
  await queryRows(app.ctx.db, sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await app.ctx.db.execute(sql`UPDATE campaign SET snapshot_on = current_date, status = 'sending' WHERE uid = ${uid}`);
  await app.ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, email, reply)
    SELECT c.snapshot_on, c.customer_id, 1, c.id, n, state::hot.delivery_state, 'p' || n || '@example.org', '250 OK'
      FROM campaign c, unnest(${states}::text[]) WITH ORDINALITY AS s (state, n) WHERE c.uid = ${uid}`);
  const count = (state: string) => states.filter((one) => one === state).length;
  const [sent, failed] = [count('sent'), count('failed')];
  await app.ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open, sent, failed)
    SELECT customer_id, 1, id, ${states.length}, ${states.length - sent - failed}, ${sent}, ${failed} FROM campaign WHERE uid = ${uid}`);
}

describe('a campaign', () => {
  test('is made, and answers what was asked of it', async () => {
    const { data } = await run(CREATE, { input: content });
    expect(data['createCampaign']).toMatchObject({
      status: 'ready',
      list: { name: 'Friends' },
      listName: 'Friends',
      statistics: { subscriberCount: 0 },
    });
  });

  test('names its faulty fields as GraphQL does', async () => {
    const { data } = await run(CREATE, { input: { ...content, fromName: 'a\nb', fromEmail: 'none', html: '' } });
    const { fields } = data['createCampaign'] as { fields: { field: string }[] };
    expect(fields.map(({ field }) => field).toSorted()).toEqual(['fromEmail', 'fromName', 'html']);
  });

  test('is paused and resumed only where it stands so', async () => {
    const uid = await newCampaign();
    const act = async (name: string) =>
      (
        await run(
          `mutation ($uid: String!) { ${name}(uid: $uid) { __typename ... on Campaign { status } ... on Error { code } } }`,
          { uid },
        )
      ).data[name];
    expect(await act('pauseCampaign')).toMatchObject({ __typename: 'WrongStateError', code: 'CAMPAIGN_WRONG_STATE' });
    expect(await act('resumeCampaign')).toMatchObject({ __typename: 'WrongStateError' });
    expect(await act('startCampaign')).toMatchObject({ __typename: 'ValidationError', code: 'CAMPAIGN_NOT_READY' });
    const deleted = await run('mutation ($uid: String!) { deleteCampaign(uid: $uid) { __typename } }', { uid });
    expect(deleted.data).toEqual({ deleteCampaign: { __typename: 'DeletedCampaign' } });
  });

  test('of somebody else cannot be told from an unknown one, by any field that takes a uid', async () => {
    const uid = await newCampaign();
    const stranger = await app.newCustomer();
    const documents = [
      'query ($uid: String!) { r: campaign(uid: $uid) { __typename ... on Error { code message } } }',
      'query ($uid: String!) { r: campaignLedger(uid: $uid) { ... on LedgerBalance { sent } } }',
      'mutation ($uid: String!) { r: updateCampaign(input: { uid: $uid, name: "Mine" }) { __typename ... on Error { code message } } }',
      ...['startCampaign', 'pauseCampaign', 'resumeCampaign', 'deleteCampaign'].map(
        (name) => `mutation ($uid: String!) { r: ${name}(uid: $uid) { __typename ... on Error { code message } } }`,
      ),
    ];
    for (const document of documents) {
      const foreign = await app.run(document, { uid }, stranger.token);
      const unknown = await app.run(document, { uid: 'ffffffffffff0' }, stranger.token);
      expect({ data: foreign.data, errors: foreign.errors, status: foreign.status }).toEqual({
        data: unknown.data,
        errors: unknown.errors,
        status: unknown.status,
      });
    }
    expect(
      (await run('query ($uid: String!) { campaign(uid: $uid) { ... on Campaign { name status } } }', { uid })).data,
    ).toEqual({
      campaign: { name: 'Spring', status: 'ready' },
    });
  });
});

describe('deliveries', () => {
  const PAGE = `query ($uid: String!, $first: Int, $after: String, $last: Int, $state: DeliveryState) {
    campaign(uid: $uid) { ... on Campaign {
      deliveries(first: $first, after: $after, last: $last, state: $state) {
        totalCount nodes { subscriberUid email state reply } pageInfo { hasNextPage endCursor }
      }
    } }
    campaignLedger(uid: $uid) { ... on LedgerBalance { audience sent failed queued } }
  }`;
  interface Page {
    campaign: {
      deliveries: {
        nodes: { email: string; subscriberUid: string }[];
        pageInfo: { hasNextPage: boolean; endCursor: string };
      };
    };
    campaignLedger: unknown;
  }

  test('are read by key, page after page, each once', async () => {
    const uid = await newCampaign();
    await fillLedger(uid, [...Array.from({ length: 30 }, () => 'sent'), 'failed', 'queued']);
    const emails: string[] = [];
    let after: string | undefined;
    for (;;) {
      const page = (await run(PAGE, { uid, first: 10, after })).data as unknown as Page;
      emails.push(...page.campaign.deliveries.nodes.map(({ email }) => email));
      expect(page.campaignLedger).toEqual({ audience: 32, sent: 30, failed: 1, queued: 1 });
      if (!page.campaign.deliveries.pageInfo.hasNextPage) break;
      after = page.campaign.deliveries.pageInfo.endCursor;
    }
    expect(emails).toEqual(Array.from({ length: 32 }, (_, n) => `p${n + 1}@example.org`));
  });

  test('can be narrowed to a state', async () => {
    const uid = await newCampaign();
    await fillLedger(uid, ['sent', 'failed', 'sent']);
    const { data } = await run(PAGE, { uid, state: 'failed' });
    expect(data).toMatchObject({
      campaign: {
        deliveries: {
          totalCount: 1,
          nodes: [{ state: 'failed', subscriberUid: subscriberUid(2n), reply: '250 OK' }],
        },
      },
    });
  });

  test('are counted by state, the open states from the ledger', async () => {
    const uid = await newCampaign();
    await fillLedger(uid, ['sent', 'failed', 'sent', 'queued', 'queued', 'queued', 'leased', 'sending']);
    const totals = { sent: 2, failed: 1, queued: 3, leased: 1, sending: 1, skipped: 0, unknown: 0, suppressed: 0 };
    for (const [state, totalCount] of Object.entries(totals))
      expect((await run(PAGE, { uid, state, first: 1 })).data).toMatchObject({
        campaign: { deliveries: { totalCount } },
      });
    expect((await run(PAGE, { uid, first: 1 })).data).toMatchObject({ campaign: { deliveries: { totalCount: 8 } } });
  });

  test('are empty before the start, and refuse what is no cursor', async () => {
    const uid = await newCampaign();
    expect((await run(PAGE, { uid })).data).toMatchObject({
      campaign: { deliveries: { totalCount: 0, nodes: [] } },
      campaignLedger: null,
    });
    for (const bad of [{ after: 'nonsense' }, { last: 5 }]) {
      expect((await run(PAGE, { uid, ...bad })).errors[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });
});

test('a page of 100 campaigns with figures, links and lists takes as many statements as one of 10', NOISE, async () => {
  const other = await app.newCustomer();
  await app.ctx.db.execute(sql`
    WITH l AS (
      INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
      SELECT ${other.customerId}, 'page' || n, 'L' || n, '', 'a@b.example', 'S' FROM generate_series(1, 100) n RETURNING customer_id, id)
    INSERT INTO campaign (customer_id, uid, list_id, name) SELECT customer_id, 'page' || id, id, 'C' FROM l`);
  const page = (first: number) =>
    countStatements(() =>
      app.run(
        `{ campaigns(first: ${first}) { ... on CampaignConnection { nodes { uid listName list { name contact { company } } statistics { openCount links { url } topOpenSubscribers { email } } } } } }`,
        {},
        other.token,
      ),
    );
  await page(1);
  const ten = await page(10);
  const hundred = await page(100);
  expect((hundred.result.data['campaigns'] as { nodes: unknown[] }).nodes).toHaveLength(100);
  expect(hundred.statements.length).toBe(ten.statements.length);
  expect(ten.statements.length).toBeLessThan(10);
});
