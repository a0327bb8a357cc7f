/** Logo and color of a list: set and read over REST and GraphQL, and seen on its public pages. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { styleOfColor } from '../../src/inbound/list-look.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { TINY_PNG } from '../support/tiny-png.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const { call, newList } = mailWorld(app, owner);

async function upload(bytes: Uint8Array, name: string, token = owner.token) {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(bytes)]), name);
  const answer = await app.rest('/file/upload', { method: 'POST', body: form, token });
  return { uid: String(field(answer, 'file_uid')), url: String(field(answer, 'url')) };
}

async function pageOf(list: string) {
  const answer = await fetch(`${app.baseUrl}/signup/${list}`);
  return { text: await answer.text(), policy: answer.headers.get('content-security-policy') ?? '' };
}

const patch = (list: string, body: object, dialect = 'standard') =>
  app.rest(`/lists/${list}`, {
    ...{ method: 'PATCH', body, token: owner.token },
    headers: { 'X-Api-Dialect': dialect },
  });

test.each(['standard', 'classic'])('are set, shown on the pages, and cleared, %s dialect', async (dialect) => {
  const { uid: list } = await newList();
  const file = await upload(TINY_PNG, 'our logo ä.png');
  const answer = await patch(list, { public_signup: 1, logo: file.uid, color: '#FFD400' }, dialect);
  expect(answer.status, answer.text).toBe(200);
  const read = async () => (await call('GET', `/lists/${list}`)).body;
  expect(await read()).toMatchObject({ list: { logo: file.url, color: '#ffd400' } });
  const { text, policy } = await pageOf(list);
  const [, address = '', alt] = /<img class="logo" src="([^"]+)" alt="([^"]*)">/.exec(text) ?? [];
  expect(new URL(address, app.baseUrl).href).toBe(file.url);
  expect(alt).toBe(field(await call('GET', `/lists/${list}`), 'list', 'name'));
  // A client sends back what it has read.
  expect((await patch(list, { logo: file.url, color: '#ffd400' }, dialect)).status).toBe(200);
  expect(await read()).toMatchObject({ list: { logo: file.url } });
  const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)].map(([, style = '']) => style);
  expect(styles).toHaveLength(2);
  for (const style of styles) expect(policy).toContain(createHash('sha256').update(style).digest('base64'));
  expect(policy).toContain("img-src 'self'");
  await patch(list, { logo: '', color: '' }, dialect);
  expect(await read()).toMatchObject({ list: { logo: null, color: null } });
  const plain = await pageOf(list);
  expect(plain.text).not.toContain('<img');
  expect(plain.text.match(/<style>/g)).toHaveLength(1);
  expect(plain.policy).not.toContain('img-src');
});

test('a logo goes with its file', async () => {
  const { uid: list } = await newList();
  const file = await upload(TINY_PNG, 'logo.png');
  await patch(list, { public_signup: 1, logo: file.uid });
  await app.rest(`/files/${file.uid}`, { method: 'DELETE', token: owner.token });
  expect(field(await call('GET', `/lists/${list}`), 'list', 'logo')).toBe(null);
  expect((await pageOf(list)).text).not.toContain('<img');
});

test('what is no picture of the customer, and what is no color, are refused together', async () => {
  const { uid: list } = await newList();
  const stranger = await app.newTenant();
  const foreign = await upload(TINY_PNG, 'logo.png', stranger.token);
  const text = await upload(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'logo.svg');
  for (const logo of [foreign.uid, foreign.url, text.uid, 'https://elsewhere.example/logo.png'])
    for (const color of ['red', '#12', '#1f4fd8;}*{display:none', 'rgb(1,2,3)'])
      expect(await patch(list, { logo, color })).toMatchObject({
        status: 422,
        body: { errors: { logo: [expect.any(String)], color: [expect.stringContaining('#rrggbb')] } },
      });
  expect((await call('GET', `/lists/${list}`)).body).toMatchObject({ list: { logo: null, color: null } });
});

test('GraphQL sets and reads them', async () => {
  const { uid } = await newList();
  const file = await upload(TINY_PNG, 'logo.png');
  const update = async (input: object) => {
    const query = `mutation ($uid: String!, $input: UpdateListInput!) { updateList(uid: $uid, input: $input) {
      ... on MailList { logo color } ... on ValidationError { fields { field } } } }`;
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` };
    const body = JSON.stringify({ query, variables: { uid, input } });
    return (await (await fetch(`${app.baseUrl}/graphql`, { method: 'POST', headers, body })).json()).data.updateList;
  };
  expect(await update({ logo: file.uid, color: '#1f4fd8' })).toEqual({ logo: file.url, color: '#1f4fd8' });
  expect(await update({ color: null })).toEqual({ logo: file.url, color: null });
  expect(await update({ logo: 'none', color: 'x' })).toEqual({ fields: [{ field: 'color' }, { field: 'logo' }] });
});

test('texts stay readable in every color', () => {
  expect(styleOfColor('#ffd400')).toContain('background: #ffd400; color: #000000');
  expect(styleOfColor('#1f4fd8')).toContain('background: #1f4fd8; color: #ffffff');
  const [light, dark] = styleOfColor('#ffd400').split('@media');
  expect(light).toContain('h1 { color: inherit; }');
  expect(dark).toContain('h1 { color: #ffd400; }');
  expect(styleOfColor('#1a1a60')).toMatch(/h1 \{ color: #1a1a60; \}[^]*h1 \{ color: inherit; \}/);
});
