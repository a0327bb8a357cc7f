/** Html of campaigns: an index and a GraphQL request read only so much of it as fits in memory, and refuse the rest clearly. */
import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { CONTENT_BYTES_MAX } from '../../src/schema/limits.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

const HTML_BYTES = 1_048_576;
const FITTING = CONTENT_BYTES_MAX / HTML_BYTES;
/** The world's own campaign has a few bytes, too. */
const HUGE = FITTING + 8;

beforeAll(async () => {
  await app.ctx.db.execute(sql`
    INSERT INTO campaign (customer_id, list_id, uid, name, html)
    SELECT customer_id, id, lpad(to_hex(n), 13, '0'), 'Huge', repeat(chr(96 + n % 26 + 1), ${HTML_BYTES}) FROM mail_list, generate_series(1, ${HUGE}) n
     WHERE uid = ${owner.listUid}`);
});

const dialects = [['standard'], ['classic']] as const;
const index = (query: string, dialect: string) =>
  app.rest(`/campaigns?${query}`, { token: owner.token, headers: { 'X-Api-Dialect': dialect } });

interface GraphqlAnswer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly { readonly extensions?: Record<string, unknown> }[];
}

async function query(text: string): Promise<GraphqlAnswer> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query: text }),
  });
  return (await answer.json()) as GraphqlAnswer;
}

interface Row {
  readonly uid: string;
  readonly html: string;
}

const rowsOf = (body: unknown) => (Array.isArray(body) ? body : (body as { data: unknown }).data) as Row[];

test.each(dialects)('a page of the index has its html as far as it fits (%s)', async (dialect) => {
  const { status, body } = await index(`per_page=${FITTING - 1}&page=1`, dialect);
  expect(status).toBe(200);
  const huge = rowsOf(body).filter(({ uid }) => uid.startsWith('00000'));
  expect(huge.length).toBeGreaterThan(FITTING - 4);
  for (const { uid, html } of huge) {
    const letter = String.fromCharCode(97 + (parseInt(uid, 16) % 26));
    expect([html.length, html[0]]).toEqual([HTML_BYTES, letter]);
  }
});

test.each(dialects)('a page with more html is refused, and says what to do (%s)', async (dialect) => {
  const { status, body } = await index('per_page=1000', dialect);
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toMatch(/have \d\d MB; one request may read 32 MB of them\. Ask for fewer campaigns/);
  if (dialect === 'standard') expect(body).toHaveProperty('errors.per_page');
});

test('GraphQL refuses it, too, and lists the campaigns without html', async () => {
  const whole = await query('{ campaigns(first: 100) { ... on CampaignConnection { nodes { uid html } } } }');
  expect(whole.errors).toMatchObject([{ extensions: { code: 'TOO_MUCH_CONTENT' } }]);
  const plain = await query('{ campaigns(first: 100) { ... on CampaignConnection { nodes { uid plain } } } }');
  expect(plain.errors).toMatchObject([{ extensions: { code: 'TOO_MUCH_CONTENT' } }]);
  const { data } = await query('{ campaigns(first: 100) { ... on CampaignConnection { nodes { uid name } } } }');
  expect(data).toHaveProperty(`campaigns.nodes.${HUGE - 1}.name`, 'Huge');
});

test('several fields of one request have one limit together', async () => {
  const page = (name: string, size: number) =>
    `${name}: campaigns(first: ${size}) { ... on CampaignConnection { nodes { html } } }`;
  const half = FITTING / 2 - 1;
  expect((await query(`{ ${page('a', half)} ${page('b', half)} }`)).errors).toBeUndefined();
  const { errors } = await query(`{ ${page('a', half)} ${page('b', half)} ${page('c', half)} }`);
  expect(errors?.map(({ extensions }) => extensions?.['code'])).toContain('TOO_MUCH_CONTENT');
});

test('a campaign that is changed twice in a request is answered as it is each time', async () => {
  const change = (name: string, html: string) =>
    `${name}: updateCampaign(input: { uid: "${owner.campaignUid}", html: "${html}" }) { ... on Campaign { html } }`;
  const { data } = await query(`mutation { ${change('a', 'first')} ${change('b', 'second')} }`);
  expect(data).toMatchObject({ a: { html: 'first' }, b: { html: 'second' } });
});
