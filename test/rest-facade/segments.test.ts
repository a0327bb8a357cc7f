/** Segments over REST, and the same over GraphQL: what is stored, shown, counted, refused; campaigns to them; canaries. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const own = await newWorld(app, smtp);
const stranger = await newWorld(app, smtp);

const VIPS = { tags: { hasAny: ['vip'] } };
const ask = (method: string, path: string, body?: object, token = own.token) =>
  app.rest(path, { method, token, ...(body ? { body } : {}) });
const create = (body: object, world: World = own) => ask('POST', `/lists/${world.listUid}/segments`, body, world.token);
const uidOf = ({ body }: RestAnswer) => (body as { segment_uid: string }).segment_uid;
const errorsOf = ({ body }: RestAnswer) => Object.keys((body as { errors?: object }).errors ?? {});

async function graphql(query: string, variables: object, token = own.token) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return { status: response.status, text: await response.text() };
}

/** People of the world's list beside the one it has. */
async function addPeople({ listUid }: World, emails: readonly string[], tags: readonly string[] = []) {
  await app.ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT l.customer_id, l.id, e, e, 'subscribed', ${[...tags]}::text[] FROM mail_list l, unnest(${[...emails]}::text[]) e WHERE l.uid = ${listUid}`);
}

describe('a segment', () => {
  test('is made, shown, changed, listed, counted, paged and deleted', async () => {
    await addPeople(own, ['v1@example.org', 'v2@example.org'], ['VIP']);
    const made = await create({ name: 'VIPs', rule: VIPS });
    expect(made.status).toBe(201);
    const uid = uidOf(made);
    const shown = { uid, name: 'VIPs', list_uid: own.listUid, rule: VIPS };
    expect(made.body).toMatchObject({ status: 1, message: 'Segment was successfully created', segment: shown });
    expect((await ask('GET', `/segments/${uid}`)).body).toMatchObject({ segment: shown });
    expect((await ask('GET', `/segments/${uid}/count`)).body).toMatchObject({ segment_uid: uid, count: 2 });
    const people = await ask('GET', `/segments/${uid}/subscribers?per_page=1&page=2`);
    expect(people.body).toMatchObject({ data: [{ email: 'v2@example.org' }], meta: { total: 2, last_page: 2 } });
    expect((await ask('GET', `/lists/${own.listUid}/segments`)).body).toMatchObject({ meta: { total: 2 } });
    const renamed = await ask('PATCH', `/segments/${uid}`, { name: 'Others', rule: { none: [VIPS] } });
    expect(renamed.body).toMatchObject({ segment: { name: 'Others', rule: { none: [VIPS] } } });
    expect((await ask('GET', `/segments/${uid}/count`)).body).toMatchObject({ count: 1 });
    expect((await ask('DELETE', `/segments/${uid}`)).body).toMatchObject({ status: 1, segment_uid: uid });
    expect((await ask('GET', `/segments/${uid}`)).status).toBe(404);
  });

  test('leaves the same row over both entry points', async () => {
    const rule = {
      all: [
        { createdAt: { after: '2026-01-01T00:00:00.000Z' } },
        { any: [VIPS, { opened: { campaigns: { last: 3 }, atLeast: 2 } }] },
      ],
    };
    const rest = uidOf(await create({ name: 'Twin', rule }));
    const CREATE = 'mutation ($input: CreateSegmentInput!) { createSegment(input: $input) { ... on Segment { uid } } }';
    const { text } = await graphql(CREATE, { input: { listUid: own.listUid, name: 'Twin', rule } });
    const twin: string = JSON.parse(text).data.createSegment.uid;
    const rows = await queryRows(
      app.ctx.db,
      sql`SELECT customer_id, list_id, name, rule FROM segment WHERE uid IN (${rest}, ${twin})`,
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual(rows[1]);
  });

  test('picks who did something, by the events that programs send', async () => {
    await addPeople(own, ['e1@example.org', 'e2@example.org']);
    const event = { name: 'order_placed', list_uid: own.listUid };
    const events = [1, 1, 2].map((no) => ({ ...event, email: `e${no}@example.org` }));
    expect((await ask('POST', '/events', { events })).body).toMatchObject({ recorded: 3 });
    const did = { did: { event: 'order_placed', atLeast: 2, inLastDays: 30 } };
    const uid = uidOf(await create({ name: 'Twice', rule: did }));
    expect((await ask('GET', `/segments/${uid}/subscribers`)).body).toMatchObject({
      data: [{ email: 'e1@example.org' }],
    });
    expect((await ask('GET', `/segments/${uid}`)).body).toMatchObject({ segment: { rule: did } });
    const never = { all: [{ email: { startsWith: 'e' } }, { didNot: did.did }, { did: { kind: 'added' } }] };
    const PREVIEW =
      'query ($listUid: String!, $rule: SegmentRuleInput!) { segmentPreview(listUid: $listUid, rule: $rule) { ... on SegmentPreview { subscribers(first: 5) { nodes { email } } } } }';
    const { text } = await graphql(PREVIEW, { listUid: own.listUid, rule: never });
    expect(text).toContain('e2@example.org');
    expect(text).not.toContain('e1@example.org');
    for (const [rule, place] of [
      [{ did: {} }, 'rule.did'],
      [{ did: { event: 'Order' } }, 'rule.did.event'],
      [{ didNot: { kind: 'nothing' } }, 'rule.didNot.kind'],
      [{ did: { kind: 'added', tag: 'x' } }, 'rule.did.tag'],
      [{ did: { event: 'x', atLeast: 0 } }, 'rule.did.atLeast'],
    ] as const)
      expect(errorsOf(await create({ name: 'X', rule })), JSON.stringify(rule)).toContain(place);
  });

  test('says where a rule is wrong, and that it is missing', async () => {
    const wrong = { all: [VIPS, { field: { tag: 'GONE', text: { is: 'x' } } }, { createdAt: { inLastDays: 7 } }] };
    expect(errorsOf(await create({ name: 'X', rule: wrong }))).toEqual(['rule.all.1.field.tag']);
    expect(errorsOf(await create({ name: 'X', rule: { email: { is: 'nobody' } } }))).toEqual(['rule.email.is']);
    expect(errorsOf(await create({ name: 'X' }))).toEqual(['rule']);
    expect(errorsOf(await create({ name: '', rule: VIPS }))).toEqual(['name']);
    for (const rule of ['{', '[]', 'null', '5', [VIPS]])
      expect(errorsOf(await create({ name: 'X', rule })), JSON.stringify(rule)).toEqual(['rule']);
    for (const rule of [{ nothing: 1 }, { ...VIPS, email: { contains: 'a' } }, { tags: { hasAny: [1] } }])
      expect((await create({ name: 'X', rule })).status, JSON.stringify(rule)).toBe(422);
    // GraphQL takes one for a list of one.
    expect((await create({ name: 'X', rule: { all: VIPS } })).status).toBe(201);
  });

  test.each([
    [{ bogus: 1 }, 'rule', /^The rule has no “bogus”. It may have: .*\btags\b/],
    [{ ...VIPS, email: { is: 'a@b.c' } }, 'rule', /^The rule must be an object with exactly one of: .*\btags\b/],
    [
      { all: [{ status: ['subscribed'] }, { email: { is: 3 } }] },
      'rule.all.1.email.is',
      /^The value of “is” must be a text\.$/,
    ],
    [
      { field: { tag: 'AGE', number: { gte: 'x' } } },
      'rule.field.number.gte',
      /^The value of “gte” must be a number\.$/,
    ],
    [{ field: { text: { is: 'x' } } }, 'rule.field.tag', /^The tag field is required\.$/],
    [{ tags: ['vip'] }, 'rule.tags', /^The tags must be an object with exactly one of: hasAll, hasAny, hasNone\.$/],
    [{ tags: { hasAny: ['vip', null] } }, 'rule.tags.hasAny.1', /^The “has any” field is required\.$/],
    [{ opened: { peopleOnly: 'maybe' } }, 'rule.opened.peopleOnly', /^The people only must be true or false\.$/],
    [{ opened: { atLeast: 1.5 } }, 'rule.opened.atLeast', /^The value of “at least” must be a whole number\.$/],
    [{ createdAt: { before: 'soon' } }, 'rule.createdAt.before', /^The value of “before” must be an ISO 8601 /],
    [{ status: ['nobody'] }, 'rule.status.0', /^The status must be one of: .*\bsubscribed\b/],
  ])('says where %j does not fit, without words of the schema', async (rule, place, said) => {
    const answer = await create({ name: 'X', rule });
    expect(answer).toMatchObject({ status: 422, body: { errors: { [place]: [expect.stringMatching(said)] } } });
    expect(answer.text).not.toMatch(/Segment\w*Input|OneOf/);
  });

  test('takes a deeply nested rule, also as a text', async () => {
    const nested = (levels: number): object => (levels === 0 ? VIPS : { all: [nested(levels - 1)] });
    expect((await create({ name: 'Deep', rule: nested(10) })).status).toBe(201);
    expect((await create({ name: 'Deep', rule: nested(11) })).status).toBe(422);
    expect((await create({ name: 'Deep', rule: nested(22) })).text).toContain('nested 44 deep');
    expect((await create({ name: 'Deep', rule: JSON.stringify(nested(10)) })).status).toBe(201);
    expect((await create({ name: 'Deep', rule: JSON.stringify(nested(11)) })).status).toBe(422);
    expect((await create({ name: 'Deep', rule: `${'{"all":['.repeat(5_000)}{}${']}'.repeat(5_000)}` })).status).toBe(
      422,
    );
  });

  test('of another tenant is a 403, and nothing of theirs shows', async () => {
    await addPeople(stranger, ['canary-7f3a@example.org'], ['VIP']);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/count'],
      ['GET', '/subscribers'],
    ] as const) {
      const answer = await ask(
        method,
        `/segments/${stranger.segmentUid}${path}`,
        method === 'PATCH' ? { name: 'Mine' } : undefined,
      );
      expect(answer.status, `${method} ${path}`).toBe(403);
      expect(answer.text).not.toContain('canary');
    }
    // By a rule of one's own that names theirs.
    const opened = { opened: { campaigns: { uids: [stranger.campaignUid] } } };
    expect((await create({ name: 'X', rule: opened })).status).toBe(403);
    expect((await create({ name: 'X', rule: { opened: { campaigns: { uids: [newUid()] } } } })).status).toBe(404);
    expect((await ask('PATCH', `/campaigns/${own.campaignUid}`, { segment_uid: stranger.segmentUid })).status).toBe(
      403,
    );
    const everybody = uidOf(await create({ name: 'All', rule: { any: [VIPS, { none: [VIPS] }] } }));
    expect((await ask('GET', `/segments/${everybody}/subscribers?per_page=1000`)).text).not.toContain('canary');
    // GraphQL does not even say that it is there.
    const PREVIEW = `query ($listUid: String!, $rule: SegmentRuleInput!) { segmentPreview(listUid: $listUid, rule: $rule) { __typename ... on Error { code }
      ... on SegmentPreview { size { count } subscribers(first: 5) { nodes { email } } } } }`;
    const unknown = await graphql(PREVIEW, {
      listUid: own.listUid,
      rule: { opened: { campaigns: { uids: [newUid()] } } },
    });
    const foreign = await graphql(PREVIEW, { listUid: own.listUid, rule: opened });
    expect(foreign.text).toBe(unknown.text);
    expect(foreign.text).toContain('CAMPAIGN_NOT_FOUND');
  });

  test('needs the right to read people where it tells of people', async () => {
    const { token } = await app.newTenant({ scopes: ['lists:write'] });
    const SIZE = 'query ($uid: String!) { segmentSize(uid: $uid) { __typename ... on Error { code } } }';
    expect((await graphql(SIZE, { uid: newUid() }, token)).text).toContain('FORBIDDEN');
    const PREVIEW =
      'query ($l: String!, $r: SegmentRuleInput!) { segmentPreview(listUid: $l, rule: $r) { __typename ... on Error { code } } }';
    expect((await graphql(PREVIEW, { l: newUid(), r: VIPS }, token)).text).toContain('FORBIDDEN');
  });
});

describe('a campaign', () => {
  test('is given a segment, shows it by name, and gives it back', async () => {
    const world = await newWorld(app, smtp);
    const path = `/campaigns/${world.campaignUid}`;
    const patch = (body: object) => ask('PATCH', path, body, world.token);
    expect((await patch({ segment_uid: world.segmentUid })).status).toBe(200);
    expect((await ask('GET', path, undefined, world.token)).body).toMatchObject({
      campaign: { segment: 'Segment', segment_uid: world.segmentUid },
    });
    expect((await ask('DELETE', `/segments/${world.segmentUid}`, undefined, world.token)).body).toMatchObject({
      errors: { status: expect.anything() },
    });
    expect((await patch({ name: 'Same segment' })).body).toMatchObject({ campaign: { segment: 'Segment' } });
    expect((await patch({ segment_uid: '' })).body).toMatchObject({ campaign: { segment: null, segment_uid: null } });
    const made = await ask(
      'POST',
      '/campaigns',
      {
        ...{ list_uid: world.listUid, segment_uid: world.segmentUid, name: 'N', subject: 'S' },
        ...{ from_email: 'a@sender.example', from_name: 'A', html: '<p>x</p>' },
      },
      world.token,
    );
    expect(made.body).toMatchObject({ campaign: { segment: 'Segment' } });
  });
});

describe('variables', () => {
  test.each([50, 100_000])('nested %i deep are refused without harm', async (depth) => {
    const rule = `${'{"all":['.repeat(depth)}{}${']}'.repeat(depth)}`;
    const query = 'query ($l: String!, $r: SegmentRuleInput!) { segmentPreview(listUid: $l, rule: $r) { __typename } }';
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${own.token}` },
      body: `{"query":${JSON.stringify(query)},"variables":{"l":"${own.listUid}","r":${rule}}}`,
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/nested|levels/);
  });
});
