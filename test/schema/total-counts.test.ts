/**
 * `totalCount` of every connection: as many rows as the connection gives page by page, and as its numbered pages count, under every
 * filter; never another tenant's; and counted only when asked for.
 */
import { isNonNullType, isObjectType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { COUNTED_MAX } from '../../src/schema/limits.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';

const app = await startRestApp();
const schema = buildSchema();

/** How a connection is reached: the fields around it, its own arguments; and the field of the same rows by pages. */
interface Way {
  readonly field: string;
  readonly filters?: readonly string[];
  readonly within?: (world: World, inner: string) => string;
  readonly page?: string;
  readonly isForAdministrators?: boolean;
}

const member = (type: string, inner: string) => `{ ... on ${type} { ${inner} } ... on Error { code message } }`;
const ofList = ({ listUid }: World, inner: string) => `list(uid: "${listUid}") ${member('MailList', inner)}`;
const ofCampaign = (_world: World, inner: string) =>
  `campaigns(first: 1) ${member('CampaignConnection', `nodes { ${inner} }`)}`;
const ofPlan = ({ subscriptionUid }: World, inner: string) =>
  `subscription(uid: "${subscriptionUid}") ${member('PlanSubscription', inner)}`;
const ofRun = ({ automationUid, runUid }: World, inner: string) =>
  `automationRun(uid: "${automationUid}", run: "${runUid}") ${member('AutomationRun', inner)}`;
const ofPreview = ({ listUid }: World, inner: string) =>
  `segmentPreview(listUid: "${listUid}", rule: { email: { contains: "@" } }) ${member('SegmentPreview', inner)}`;
const ACTIVITY = ['', 'opened: true', 'opened: false', 'clicked: true', 'opened: true, clicked: false'];

const WAYS: Readonly<Record<string, Way>> = {
  ApiTokenConnection: { field: 'apiTokens' },
  AutomationConnection: {
    ...{ field: 'automations', page: 'automationsPage' },
    filters: ['', 'q: "AUTOM"', 'q: "nothing"', 'status: active', 'status: inactive', 'listUid: "LIST"'],
  },
  AutomationRunConnection: {
    field: 'automationRuns',
    filters: ['', ', state: waiting', ', state: waiting, node: "call"', ', state: parked'].map(
      (more) => `uid: "AUTOMATION"${more}`,
    ),
  },
  AutomationStepConnection: { field: 'steps', within: ofRun },
  AutomationVersionConnection: { field: 'automationVersions', filters: ['uid: "AUTOMATION"'] },
  AuditEventConnection: { field: 'auditEvents' },
  CampaignConnection: { field: 'campaigns', page: 'campaignsPage' },
  CustomerConnection: {
    ...{ field: 'customers', page: 'customersPage', filters: ['', 'keyword: "nobody"', 'keyword: "tenant"'] },
    isForAdministrators: true,
  },
  DeliveryConnection: { field: 'deliveries', within: ofCampaign, filters: ['', 'state: sent', 'state: queued'] },
  EmailVerificationServerConnection: { field: 'emailVerificationServers', page: 'emailVerificationServersPage' },
  FromAddressConnection: { field: 'fromAddresses' },
  InvoiceConnection: { field: 'invoices', page: 'invoicesPage' },
  MailListConnection: { field: 'lists', page: 'listsPage' },
  MailListImportConnection: { field: 'imports', within: ofList },
  MailListSubscribersConnection: { field: 'subscribers', within: ofList, filters: ACTIVITY },
  SegmentConnection: { field: 'segments', page: 'segmentsPage', filters: ['', 'listUid: "LIST"'] },
  SegmentPreviewSubscribersConnection: { field: 'subscribers', within: ofPreview },
  SegmentSubscribersConnection: {
    ...{ field: 'segmentSubscribers', page: 'segmentSubscribersPage', filters: ['uid: "SEGMENT"'] },
  },
  SendingDomainConnection: { field: 'sendingDomains', page: 'sendingDomainsPage' },
  SendingServerConnection: { field: 'sendingServers', page: 'sendingServersPage' },
  SubscriberConnection: { field: 'subscribers', page: 'subscribersPage', filters: ACTIVITY },
  SubscriberTimelineConnection: { field: 'subscriberTimeline', filters: ['subscriber: "SUBSCRIBER"'] },
  SubscriptionHistoryConnection: { field: 'history', within: ofPlan },
  TemplateConnection: {
    ...{ field: 'templates', page: 'templatesPage' },
    filters: ['', 'q: "TEMP"', 'q: "nothing"', 'kind: marketing', 'createdTo: "2020-01-01T00:00:00Z"'],
  },
  UploadedFileConnection: { field: 'files', page: 'filesPage' },
  VerificationConnection: { field: 'verifications', page: 'verificationsPage' },
};

let own: World;

beforeAll(async () => {
  own = await newWorld(app, { host: '127.0.0.1', port: 9 });
  const foreign = await newWorld(app, { host: '127.0.0.1', port: 9 });
  await addPeople(own);
  for (const { customerId } of [own, foreign]) await addEvents(customerId, 3);
});

/** Entries of the audit trail, and of the history of the subscription. */
async function addEvents(customerId: bigint, count: number): Promise<void> {
  await app.ctx.db.execute(sql`
    INSERT INTO hot.audit_event (customer_id, operation, entry_point)
    SELECT ${customerId}, 'createList', 'graphql' FROM generate_series(1, ${count}::int)`);
  await app.ctx.db.execute(sql`
    INSERT INTO subscription_event (customer_id, subscription_id, event, plan_uid)
    SELECT customer_id, id, 'renewed', 'plan' FROM subscription, generate_series(1, ${count}::int) WHERE customer_id = ${customerId}`);
}

/** Thirty people, of whom some opened or clicked; a second of everything else is not needed: another tenant has one. */
async function addPeople({ customerId }: World): Promise<void> {
  await app.ctx.db.execute(sql`
    WITH made AS (
      INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
      SELECT ${customerId}, l.id, n || '@m.example', n || '@m.example', 'subscribed', '{}'
        FROM mail_list l, generate_series(1, 30) n WHERE l.customer_id = ${customerId} RETURNING list_id, id)
    INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
    SELECT ${customerId}, list_id, id, CASE WHEN id % 2 = 0 THEN now() END, CASE WHEN id % 3 = 0 THEN now() END FROM made`);
  await app.ctx.db.execute(sql`
    UPDATE hot.list_counter c SET (openers, clickers) =
           (SELECT count(opened_at), count(clicked_at) FROM hot.subscriber_activity a
             WHERE a.customer_id = c.customer_id AND a.list_id = c.list_id)
     WHERE customer_id = ${customerId}`);
}

async function ask(document: string, token: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: document }),
  });
  const { data, errors } = await answer.json();
  expect(errors ?? [], document).toEqual([]);
  return data;
}

/** The one object in this answer that has the property, however deep. */
function holding(value: unknown, property: string): Record<string, unknown> {
  const found = [...objectsIn(value)].find((one) => property in one);
  if (!found) throw new Error(`Nothing has "${property}": ${JSON.stringify(value)}`);
  return found;
}

function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Record<string, unknown>;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

/** What the connection counts, and how many rows it gives when it is read to its end. */
async function countsOf(type: string, { field, within }: Way, filter: string, token: string) {
  const rows: unknown[] = [];
  let after = '';
  for (;;) {
    const place = [filter, 'first: 7', after].filter((part) => part !== '').join(', ');
    const connection = 'totalCount edges { cursor } pageInfo { hasNextPage endCursor }';
    const selected = `${field}(${place}) ${within ? `{ ${connection} }` : member(type, connection)}`;
    const answer = await ask(`{ ${within ? within(own, selected) : selected} }`, token);
    const { totalCount, edges, pageInfo } = holding(answer, 'totalCount') as {
      totalCount: number;
      edges: unknown[];
      pageInfo: { hasNextPage: boolean; endCursor: string };
    };
    rows.push(...edges);
    if (!pageInfo.hasNextPage) return { totalCount, rows: rows.length };
    after = `after: "${pageInfo.endCursor}"`;
  }
}

const connections = Object.values(schema.getTypeMap()).filter(
  (type) => isObjectType(type) && type.name.endsWith('Connection'),
);

describe.each(connections.map((type) => type.name))('%s', (name) => {
  test('has a total that is never null', () => {
    const type = schema.getType(name);
    const total = isObjectType(type) ? type.getFields()['totalCount']?.type : undefined;
    expect(isNonNullType(total) && String(total)).toBe('Int!');
  });

  test('counts the rows that it gives, and those of its pages', async () => {
    const way = WAYS[name];
    if (!way) throw new Error(`Tell test/schema/total-counts.test.ts how ${name} is reached.`);
    const token = way.isForAdministrators ? app.adminToken : own.token;
    for (const template of way.filters ?? ['']) {
      const filter = template
        .replace('LIST', own.listUid)
        .replace('SEGMENT', own.segmentUid)
        .replace('AUTOMATION', own.automationUid)
        .replace('SUBSCRIBER', own.subscriberUid);
      const { totalCount, rows } = await countsOf(name, way, filter, token);
      expect(totalCount, filter).toBe(rows);
      if (template === '') expect(totalCount).toBeGreaterThan(0);
      if (!way.page) continue;
      const pages = `${way.page}(${[filter, 'perPage: 1'].filter((part) => part !== '').join(', ')})`;
      const answer = await ask(`{ ${pages} ${member(pageTypeOf(way.page), 'total')} }`, token);
      expect(holding(answer, 'total')['total'], filter).toBe(totalCount);
    }
  });
});

/** The member of the field's union that is a page. */
function pageTypeOf(field: string): string {
  const union = schema.getType(`${field.charAt(0).toUpperCase()}${field.slice(1)}Result`);
  const types = union && 'getTypes' in union ? union.getTypes() : [];
  return types.find(({ name }) => name.endsWith('Page'))?.name ?? '';
}

test('is counted only when the document asks for it', NOISE, async () => {
  const read = (inner: string) =>
    countStatements(() => ask(`{ lists ${member('MailListConnection', `nodes { uid } ${inner}`)} }`, own.token));
  await read('totalCount');
  const [without, withTotal] = [await read(''), await read('totalCount')];
  expect(withTotal.statements.length - without.statements.length).toBe(1);
  expect(without.statements.filter((text) => /count\(/i.test(text))).toEqual([]);
});

test('comes from the counters for people of a list, however many there are', NOISE, async () => {
  const { statements } = await countStatements(() =>
    ask(`{ ${ofList(own, 'subscribers(first: 1) { totalCount }')} }`, own.token),
  );
  expect(statements.filter((text) => text.includes('hot.list_counter'))).toHaveLength(1);
  expect(statements.filter((text) => /count\(\*\)/i.test(text))).toEqual([]);
});

test('of the audit trail is counted up to a limit, which its description names', async () => {
  const crowded = await newWorld(app, { host: '127.0.0.1', port: 9 });
  await addEvents(crowded.customerId, COUNTED_MAX + 5);
  const answer = await ask(`{ auditEvents ${member('AuditEventConnection', 'totalCount')} }`, crowded.token);
  expect(answer).toEqual({ auditEvents: { totalCount: COUNTED_MAX } });
  expect(schema.getQueryType()?.getFields()['auditEvents']?.description).toContain(String(COUNTED_MAX));
});
