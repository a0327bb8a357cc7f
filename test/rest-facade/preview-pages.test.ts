/** Previews of messages that are not saved, and the page of a preview that other pages show in a frame (issue 13, section 2). */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { PREVIEW_MINUTES } from '../../src/domain/campaigns/preview-link.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { untilCounted } from '../support/record-tracking-events.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';

const FRONT_END = 'https://app.example';
const app = await startRestApp({ CORS_ORIGINS: FRONT_END });
const owner = await app.newTenant();
const { db } = app.ctx;
const { call, here, newList, newCampaign, add, attach } = mailWorld(app, owner);
const shown = (answer: RestAnswer) => Object(field(answer, 'preview')) as Record<string, unknown>;
const html = '<p>Hello {FIRST_NAME}, <a href="https://shop.example/">go</a></p>';

async function graphql(query: string, variables: object, token = owner.token): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return Object(await answer.json()).data.previewMessage;
}

async function rowsOf(): Promise<unknown> {
  return queryRows(
    db,
    sql`SELECT (SELECT count(*) FROM campaign) AS campaigns, (SELECT count(*) FROM hot.delivery) AS deliveries,
               (SELECT count(*) FROM hot.click_event) AS clicks, (SELECT count(*) FROM inbox.message) AS mails`,
  );
}

test.each(['standard', 'classic'])(
  'a message that is not saved is shown to a subscriber, %s dialect',
  async (dialect) => {
    const list = await newList();
    const ann = await add(list, `ann@${dialect}.example`, { FIRST_NAME: 'Ann' });
    const before = await rowsOf();
    const answer = await app.rest('/campaigns/preview', {
      method: 'POST',
      token: owner.token,
      headers: { 'X-Api-Dialect': dialect },
      body: { list_uid: list.uid, subject: 'Hi {FIRST_NAME}', html: `${html}{NO_SUCH_TAG}`, subscriber: ann },
    });
    expect(answer.status, answer.text).toBe(200);
    expect(shown(answer)).toMatchObject({ subject: 'Hi Ann', links: ['https://shop.example/'], url: null });
    expect(shown(answer)['html']).toContain('Hello Ann');
    expect(shown(answer)['plain']).toContain('Hello Ann');
    expect(shown(answer)['warnings']).toEqual([expect.stringContaining('NO_SUCH_TAG')]);
    // Its links are followed, and belong to nobody.
    const [click = ''] = /http:\/\/[^"]+\/c\/[^"]+/.exec(String(shown(answer)['html'])) ?? [];
    const followed = await fetch(here(click), { redirect: 'manual' });
    expect([followed.status, followed.headers.get('location')]).toEqual([302, 'https://shop.example/']);
    const [unsubscribe = ''] = /http:\/\/[^"]+\/u\/[^"]+/.exec(String(shown(answer)['html'])) ?? [];
    await fetch(here(unsubscribe), { method: 'POST' });
    expect(field(await call('GET', `/subscribers/${ann}`), 'subscriber', 'status')).toBe('subscribed');
    await untilCounted(app.ctx);
    expect(await rowsOf()).toEqual(before);
  },
);

test('GraphQL answers the same; what is not given is of the list', async () => {
  const list = await newList();
  const fields = '__typename ... on CampaignPreview { subject html headers { name value } url urlExpiresAt }';
  const query = `query ($list: String, $html: String) { previewMessage(listUid: $list, html: $html) { ${fields} ... on Error { message } } }`;
  const preview = await graphql(query, { list: list.uid, html });
  expect(preview).toMatchObject({ subject: 'Hello', url: null, urlExpiresAt: null });
  const [from] = (preview['headers'] as { name: string; value: string }[]).filter(({ name }) => name === 'From');
  const stored = field(await call('GET', `/lists/${list.uid}`), 'list', 'from_email');
  expect(from?.value).toContain(stored);
  const stranger = await app.newTenant();
  expect(await graphql(query, { list: list.uid, html }, stranger.token)).toMatchObject({
    __typename: 'NotFoundError',
  });
});

test('a campaign in its editor keeps what is not given, its pictures too, and what is stored stays', async () => {
  const list = await newList();
  const campaign = await newCampaign(list, { subject: 'Stored' });
  await attach(campaign, 'logo.png', { inline: '1' });
  const answer = await call('POST', '/campaigns/preview', {
    campaign_uid: campaign,
    html: '<p>Changed <img src="cid:logo.png" alt=""></p>',
  });
  expect(shown(answer)).toMatchObject({
    subject: 'Stored',
    html: expect.stringMatching(/Changed <img src="http[^"]+\/files\//),
  });
  expect(field(await call('GET', `/campaigns/${campaign}`), 'campaign', 'html')).not.toContain('Changed');
  const other = await newList();
  const bea = await add(other, 'bea@other.example', { FIRST_NAME: 'Bea' });
  const moved = await call('POST', '/campaigns/preview', {
    ...{ campaign_uid: campaign, list_uid: other.uid, subscriber: bea, html },
  });
  expect(shown(moved)['html']).toContain('Hello Bea');
});

test('faults are told by field, as those of a campaign', async () => {
  const list = await newList();
  const errorsOf = async (body: object) => {
    const answer = await call('POST', '/campaigns/preview', body);
    expect(answer.status, answer.text).toBe(422);
    return Object.keys(Object(field(answer, 'errors')));
  };
  expect(await errorsOf({ html })).toEqual(['list_uid', 'campaign_uid']);
  expect(await errorsOf({ list_uid: list.uid })).toEqual(['html']);
  expect(await errorsOf({ list_uid: list.uid, html: '{% if %}', subject: '{% for %}' })).toEqual(['subject', 'html']);
  expect(await errorsOf({ list_uid: list.uid, html, from_email: 'nobody', subject: 'a\nb' })).toEqual([
    'subject',
    'from_email',
  ]);
  const other = await newList();
  const stranger = await add(other, 'eve@other.example');
  expect(await errorsOf({ list_uid: list.uid, html, subscriber: stranger })).toEqual(['subscriber']);
  const endless = '{% for a in (1..9999) %}{% for b in (1..9999) %}{{ b }}{% endfor %}{% endfor %}';
  expect(await errorsOf({ list_uid: list.uid, html: endless })).toEqual(['html']);
});

test('a preview has an address for a frame: no token, no cookie, our origins only', async () => {
  const list = await newList();
  const ann = await add(list, 'ann@frame.example', { FIRST_NAME: 'Ann' });
  const campaign = await newCampaign(list, { html: `${html}<a href="#top">up</a>` });
  const preview = shown(await call('GET', `/campaigns/${campaign}/preview?subscriber=${ann}`));
  const url = here(String(preview['url']));
  expect(url).not.toContain(owner.token);
  const page = await fetch(url);
  expect(page.status).toBe(200);
  const text = await page.text();
  expect(text).toContain('Hello Ann');
  expect(text).toContain('<a target="_blank" href="http');
  expect(text).toContain('<a target="_self" href="#top"');
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain('sandbox allow-popups allow-popups-to-escape-sandbox;');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("form-action 'none'");
  expect(policy).toMatch(new RegExp(`frame-ancestors 'self' ${FRONT_END}$`));
  expect(page.headers.get('x-frame-options')).toBeNull();
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.headers.get('set-cookie')).toBeNull();
  const wrong = url.replace(/.{8}$/, 'AAAAAAAA');
  expect((await fetch(wrong)).status).toBe(404);
  expect((await fetch(`${app.baseUrl}/preview/x`)).status).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  const left = Date.parse(`${String(preview['url_expires_at']).replace(' ', 'T')}Z`) - Date.now();
  expect(left).toBeGreaterThan((PREVIEW_MINUTES - 5) * 60_000);
  expect(left).toBeLessThanOrEqual(PREVIEW_MINUTES * 60_000);
  // What cannot be composed is told in the frame.
  await call('PATCH', `/campaigns/${campaign}`, { plain: '' });
  await db.execute(sql`UPDATE campaign SET html = '{% if %}' WHERE uid = ${campaign}`);
  const fault = await fetch(url);
  expect([fault.status, fault.headers.get('content-security-policy')]).toEqual([
    422,
    expect.stringContaining("frame-ancestors 'self'"),
  ]);
  await call('DELETE', `/campaigns/${campaign}`);
  expect((await fetch(url)).status).toBe(404);
});

test('the address ends with the token that asked for it', async () => {
  const campaign = await newCampaign(await newList());
  const made = await call('POST', '/api_tokens', { name: 'For a page', scopes: ['campaigns:read'] });
  const token = String(field(made, 'token'));
  const preview = shown(await app.rest(`/campaigns/${campaign}/preview`, { token }));
  const url = here(String(preview['url']));
  expect((await fetch(url)).status).toBe(200);
  await db.execute(sql`UPDATE api_token SET revoked_at = now() WHERE name = 'For a page'`);
  expect((await fetch(url)).status).toBe(410);
});

test('a token for campaigns alone shows no subscriber by a stored message', async () => {
  const list = await newList();
  const ann = await add(list, 'ann@stored.example', { FIRST_NAME: 'Ann' });
  const campaign = await newCampaign(list, { html: '<p>{EMAIL}</p>' });
  const query = `query ($uid: String!, $subscriber: String) {
    previewMessage: campaignPreview(uid: $uid, subscriber: $subscriber) { __typename ... on CampaignPreview { html } } }`;
  const test = `mutation ($input: SendTestCampaignInput!) {
    previewMessage: sendTestCampaign(input: $input) { __typename ... on Error { message } } }`;
  const scopes = ['campaigns:read', 'campaigns:write'];
  for (const [more, isRefused] of [[[], true] as const, [['subscribers:read'], false] as const]) {
    const made = await call('POST', '/api_tokens', { name: 'Small', scopes: [...scopes, ...more] });
    const token = String(field(made, 'token'));
    const sample = await app.rest(`/campaigns/${campaign}/preview`, { token });
    expect([more, sample.status]).toEqual([more, 200]);
    const answer = await app.rest(`/campaigns/${campaign}/preview?subscriber=${ann}`, { token });
    expect([more, answer.status]).toEqual([more, isRefused ? 403 : 200]);
    expect(answer.text.includes('ann@stored.example')).toBe(!isRefused);
    const preview = await graphql(query, { uid: campaign, subscriber: ann }, token);
    expect(preview['__typename']).toBe(isRefused ? 'ForbiddenError' : 'CampaignPreview');
    const body = { emails: 'colleague@acme.example', subscriber: ann };
    const sent = await app.rest(`/campaigns/${campaign}/test`, { method: 'POST', token, body });
    expect([more, sent.status === 403]).toEqual([more, isRefused]);
    const input = { uid: campaign, emails: ['colleague@acme.example'], subscriber: ann };
    const twin = await graphql(test, { input }, token);
    expect([more, twin['__typename'] === 'ForbiddenError']).toEqual([more, isRefused]);
  }
});

test('a token for campaigns alone reads neither subscribers nor lists by a message of its own', async () => {
  const list = await newList();
  const ann = await add(list, 'ann@secret.example', { FIRST_NAME: 'Ann' });
  const campaign = await newCampaign(list);
  const reads = '... on CampaignPreview { html } ... on Error { message }';
  const query = `query ($listUid: String, $campaignUid: String, $subscriber: String) {
    previewMessage(listUid: $listUid, campaignUid: $campaignUid, subscriber: $subscriber, html: "{EMAIL}") { __typename ${reads} } }`;
  const cases = [
    { scopes: [], refused: ['subscriber', 'list'] },
    { scopes: ['subscribers:read'], refused: ['list'] },
    { scopes: ['lists:read'], refused: ['subscriber'] },
    { scopes: ['lists:read', 'subscribers:write'], refused: [] },
  ];
  for (const { scopes, refused } of cases) {
    const made = await call('POST', '/api_tokens', { name: 'Small', scopes: ['campaigns:read', ...scopes] });
    const token = String(field(made, 'token'));
    const variants: { needs: string; input: { campaignUid?: string; listUid?: string; subscriber?: string } }[] = [
      { needs: 'none', input: { campaignUid: campaign } },
      { needs: 'subscriber', input: { campaignUid: campaign, subscriber: ann } },
      { needs: 'list', input: { listUid: list.uid } },
    ];
    for (const { needs, input } of variants) {
      const { campaignUid: campaign_uid, listUid: list_uid, subscriber } = input;
      const body = { campaign_uid, list_uid, subscriber, html: '{EMAIL}' };
      const isRefused = refused.includes(needs);
      const answer = await app.rest('/campaigns/preview', { method: 'POST', token, body });
      expect([scopes, needs, answer.status]).toEqual([scopes, needs, isRefused ? 403 : 200]);
      const preview = await graphql(query, input, token);
      expect(preview['__typename']).toBe(isRefused ? 'ForbiddenError' : 'CampaignPreview');
      if (needs === 'subscriber') expect(answer.text.includes('ann@secret.example')).toBe(!isRefused);
    }
  }
});
