/** The preheader of a campaign: written and read in both dialects and over GraphQL, and in every mail, hidden. */
import { describe, expect, test } from 'vitest';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { framedMessage } from '../support/web-view.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { call, mailTo, newList, newCampaign, add, done, here } = mailWorld(app, owner);

const shown = async (uid: string) => String(field(await call('GET', `/campaigns/${uid}/preview`), 'preview', 'html'));

/** As GraphQL reads it. */
async function preheaderOf(uid: string): Promise<unknown> {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query: `{ campaign(uid: "${uid}") { ... on Campaign { preheader } } }` }),
  });
  const { data } = (await response.json()) as { data: { campaign: { preheader: unknown } } };
  return data.campaign.preheader;
}

test('is written, read, shown hidden in the preview, and cleared', async () => {
  const uid = await newCampaign(await newList(), { preheader: ' For {FIRST_NAME} & co ' });
  const read = async () => field(await call('GET', `/campaigns/${uid}`), 'campaign', 'preheader');
  expect([await read(), await preheaderOf(uid)]).toEqual(['For {FIRST_NAME} & co', 'For {FIRST_NAME} & co']);
  expect(await shown(uid)).toMatch(/display:none[^>]*>For [^<]*&amp; co&zwnj;&nbsp;/);
  await call('PATCH', `/campaigns/${uid}`, { name: 'Other' });
  expect(await read()).toBe('For {FIRST_NAME} & co');
  await call('PATCH', `/campaigns/${uid}`, { preheader: null });
  expect(await read()).toBe('');
  expect(await shown(uid)).not.toContain('display:none');
});

describe('is refused', () => {
  test.each([
    ['with a line break', 'a\nb'],
    ['with 256 characters', 'x'.repeat(256)],
    ['with a fault', '{{ unclosed'],
  ])('%s', async (_, preheader) => {
    const uid = await newCampaign(await newList());
    const refused = await call('PATCH', `/campaigns/${uid}`, { preheader });
    expect([refused.status, Object.keys(Object(field(refused, 'errors')))]).toEqual([422, ['preheader']]);
  });
});

test('is in the answers of the classic dialect', async () => {
  const classic = await app.newTenant({ restDialect: 'classic' });
  const world = mailWorld(app, classic);
  const body = { mail_list_uid: (await world.newList()).uid, name: 'Spring', preheader: 'Sale' };
  const made = await world.call('POST', '/campaigns', {
    ...body,
    subject: 'Hi',
    from_email: 'news@sender.example',
    from_name: 'News',
    html: '<p>Hello</p>',
  });
  const read = await world.call('GET', `/campaigns/${String(field(made, 'campaign_uid'))}`);
  expect(JSON.stringify(read.body)).toContain('"preheader":"Sale"');
});

test("is in mails, tests and the web view, each with its reader's values; a paused campaign may change it", async () => {
  const list = await newList();
  await add(list, 'pia@preheader.example', { FIRST_NAME: 'Pia' });
  const html = '<p>Hello</p><a href="{WEB_VIEW_URL}">view</a>';
  const campaign = await newCampaign(list, { html, preheader: 'Only for {FIRST_NAME} today' });
  await call('POST', `/campaigns/${campaign}/test`, { emails: 'boss@preheader.example' });
  expect((await mailTo('boss@preheader.example')).html).toMatch(/^<div style="display:none[^>]*>Only for +today&/);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await call('POST', `/campaigns/${campaign}/run`, { delivery_at: later });
  expect((await call('POST', `/campaigns/${campaign}/pause`)).status).toBe(200);
  const changed = await call('PATCH', `/campaigns/${campaign}`, {
    preheader: 'News for {FIRST_NAME}',
    delivery_at: null,
  });
  expect(changed.status, changed.text).toBe(200);
  expect((await call('POST', `/campaigns/${campaign}/run`)).status).toBe(200);
  await done(campaign);
  const mail = await mailTo('pia@preheader.example');
  expect(mail.html).toMatch(/^<div style="display:none[^>]*>News for Pia&/);
  expect(mail.text).not.toContain('News for');
  const view = /href="([^"]+)">view/.exec(mail.html ?? '')?.[1];
  expect(await framedMessage(here(view))).toContain('>News for Pia&');
  expect((await call('PATCH', `/campaigns/${campaign}`, { preheader: 'x' })).status).toBe(422);
});
