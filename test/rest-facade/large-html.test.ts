/** Html of up to 4 MB comes in by every way, with a warning where Gmail clips it; what is larger is refused by name. */
import { describe, expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

const HTML_BYTES_MAX = 4 * 1_048_576;
const CLIPPED_ABOVE_BYTES = 102 * 1024;
const TOO_LARGE = 'The html may not be greater than 4 MB.';
const fields = {
  ...{ list_uid: owner.listUid, name: 'Large', subject: 'Hi' },
  ...{ from_email: 'news@sender.example', from_name: 'Sender' },
};

/** So many bytes of html that is quick to read, a style sheet; most of them are this text. */
function htmlOf(bytes: number, text = 'x'): string {
  const [before, behind] = ['<style>/*', '*/</style><p>Hi</p>'];
  const inside = bytes - before.length - behind.length;
  const whole = text.repeat(Math.floor(inside / Buffer.byteLength(text)));
  return `${before}${whole}${' '.repeat(inside - Buffer.byteLength(whole))}${behind}`;
}

interface Answer {
  readonly status: number;
  readonly body: {
    readonly campaign_uid?: string;
    readonly message?: string;
    readonly errors?: Record<string, string[]>;
    readonly warnings?: string[];
  };
}

async function post(body: BodyInit, headers: Record<string, string> = {}, path = '/campaigns'): Promise<Answer> {
  const answer = await fetch(`${app.baseUrl}/api/v1${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${owner.token}`, ...headers },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const FORM_TYPE = { 'Content-Type': 'application/x-www-form-urlencoded' };

function multipart(given: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(given)) form.append(name, value);
  return form;
}

const asJson = (html: string, dialect: string) =>
  post(JSON.stringify({ ...fields, html }), { ...JSON_TYPE, 'X-Api-Dialect': dialect });
const dialects = [['standard'], ['classic']] as const;
const ways = [
  ['JSON', (html: string) => asJson(html, 'standard')],
  [
    'JSON with every character escaped',
    (html: string) => {
      const escaped = html.replace(/[<"]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
      return post(
        JSON.stringify({ ...fields, html: '@' }).replace('"@"', () => `"${escaped}"`),
        JSON_TYPE,
      );
    },
  ],
  ['a form', (html: string) => post(new URLSearchParams({ ...fields, html }).toString(), FORM_TYPE)],
  ['a multipart form', (html: string) => post(multipart({ ...fields, html }))],
] as const;

describe('html of 4 MB', () => {
  test.each(ways)('comes in as %s, with the warning', async (_name, make) => {
    // Escaping makes it larger than 5 MB as JSON and in a form.
    const html = htmlOf(HTML_BYTES_MAX, '.αβγ "words" < of > a text ');
    const { status, body } = await make(html);
    expect([status, body.errors]).toEqual([201, undefined]);
    expect(body.warnings).toEqual([
      'The html has 4,096 KB. Gmail clips messages above 102 KB and shows a link to the rest.',
    ]);
    const read = await app.rest(`/campaigns/${body.campaign_uid}`, { token: owner.token });
    expect((read.body as { campaign: { html: string } }).campaign.html).toBe(html);
  });

  test.each(ways)('and one byte is refused by name as %s', async (_name, make) => {
    for (const html of [htmlOf(HTML_BYTES_MAX + 1), htmlOf(HTML_BYTES_MAX + 2, 'ü')]) {
      const { status, body } = await make(html);
      expect([status, body.errors]).toEqual([422, { html: [TOO_LARGE] }]);
    }
  });

  test('of signs that a form triples fits into a form', async () => {
    const html = htmlOf(HTML_BYTES_MAX, 'ü');
    const { status } = await post(new URLSearchParams({ ...fields, html }).toString(), FORM_TYPE);
    expect(status).toBe(201);
  });
});

describe('the warning', () => {
  test.each(dialects)('comes with html above 102 KB, when it is made and when it is changed (%s)', async (dialect) => {
    const made = await asJson(htmlOf(CLIPPED_ABOVE_BYTES), dialect);
    expect(made.body.warnings).toEqual([]);
    const path = `/campaigns/${made.body.campaign_uid}`;
    const change = async (html: string) =>
      (
        await app.rest(path, {
          method: 'PATCH',
          body: { html },
          token: owner.token,
          headers: { 'X-Api-Dialect': dialect },
        })
      ).body;
    const clipped = [expect.stringContaining('The html has 103 KB. Gmail clips')];
    expect(await change(htmlOf(CLIPPED_ABOVE_BYTES + 1))).toMatchObject({ warnings: clipped });
    const preview = await app.rest(`${path}/preview`, { token: owner.token });
    expect(JSON.stringify(preview.body)).toContain('Gmail clips');
    expect(await change('<p>short</p>')).toMatchObject({ warnings: [] });
  });

  test('is a field of a campaign over GraphQL, where 4 MB come in, too', async () => {
    const MAKE = `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) {
      ... on Campaign { warnings html } ... on ValidationError { fields { field messages } } } }`;
    const make = async (html: string) => {
      const { list_uid: listUid, from_email: fromEmail, from_name: fromName, name, subject } = fields;
      const input = { listUid, fromEmail, fromName, name, subject, html };
      const answer = await fetch(`${app.baseUrl}/graphql`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${owner.token}`, ...JSON_TYPE },
        body: JSON.stringify({ query: MAKE, variables: { input } }),
      });
      return ((await answer.json()) as { data: { createCampaign: unknown } }).data.createCampaign;
    };
    const html = htmlOf(HTML_BYTES_MAX, '"\n');
    expect(await make(html)).toEqual({ warnings: [expect.stringContaining('Gmail clips')], html });
    expect(await make(htmlOf(HTML_BYTES_MAX + 1))).toEqual({ fields: [{ field: 'html', messages: [TOO_LARGE] }] });
  });
});

test('html of 4 MB that is not saved is previewed, as a form of 12 MB, too', async () => {
  const html = htmlOf(HTML_BYTES_MAX, 'ü');
  const form = new URLSearchParams({ list_uid: owner.listUid, html }).toString();
  expect(await post(form, FORM_TYPE, '/campaigns/preview')).toMatchObject({ status: 200 });
});

test('a body beyond its limit is refused with a sentence: 14 MB for campaigns, 5 MB for others', async () => {
  const body = JSON.stringify({ ...fields, html: 'x'.repeat(14 * 1_048_576) });
  expect(await post(body, JSON_TYPE)).toMatchObject({
    status: 413,
    body: { message: expect.stringContaining('14 MB') },
  });
  const other = JSON.stringify({ name: 'x'.repeat(5 * 1_048_576) });
  const refused = await post(other, JSON_TYPE, '/lists');
  expect(refused).toMatchObject({ status: 413, body: { message: expect.stringContaining('5 MB') } });
});
