/** The FILTER message_composed on a running product: what plugins make of a message is what is previewed, tested and sent. */
import { afterEach, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { SAMPLE_EMAIL } from '../../src/domain/delivery/campaigns/sample-recipient.ts';
import type { ComposedMessage, FilterCallback } from '../../src/plugin-api/index.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { framedMessage } from '../support/web-view.ts';
import { withHooks } from '../support/with-hooks.ts';

// Without the clock, which would give jobs to a campaign that a test has set to `sending` by hand.
const app = await startRestApp({ ROLES: 'web,worker', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { call, mailTo, newList, newCampaign, add, done, preview, here, begin } = mailWorld(app, owner);

const live: string[] = [];
afterEach(() => live.splice(0).forEach((name) => app.hooks.remove(name)));

function plugin(name: string, callback: FilterCallback<'message_composed'>): void {
  live.push(withHooks(app.hooks, { name, boot: (on) => on.modify('message_composed', callback) }));
}

/** Returns what a plugin may not. */
const wrong = (make: (message: ComposedMessage) => unknown) => make as FilterCallback<'message_composed'>;

test('a preview, a test, the message and its page show the same change; the mark of a test stays', async () => {
  const list = await newList();
  await add(list, 'ann@composed.example', { FIRST_NAME: 'Ann' });
  const campaign = await newCampaign(list, { html: '<p>Hello</p><a href="{WEB_VIEW_URL}">view</a>', track_click: 0 });
  const seen: ComposedMessage[] = [];
  plugin('acme/greets', (message) => {
    seen.push(message);
    const html = `${message.html}<p>Yours, {{ list.name }} and {FIRST_NAME}.</p>`;
    return { ...message, campaignUid: 'other', subject: 'New for {FIRST_NAME}', fromName: 'Acme', html };
  });
  expect(await preview(campaign, '?subscriber=ann@composed.example')).toContain('and Ann.');
  await call('POST', `/campaigns/${campaign}/test`, { emails: ['ann@composed.example'] });
  const tested = await mailTo('ann@composed.example');
  expect(tested).toMatchObject({ subject: '[Test] New for Ann', from: { name: 'Acme' } });
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  const mail = await mailTo('ann@composed.example');
  expect(mail).toMatchObject({ subject: 'New for Ann', from: { name: 'Acme', address: 'news@sender.example' } });
  expect(mail.html).toContain('and Ann.');
  // The product's own checks come after: without a link in the text, the footer with one is added.
  expect(mail.html).toContain('>Unsubscribe</a>');
  expect(mail.headers.map(({ key }) => key)).toContain('list-unsubscribe-post');
  const view = /href="([^"]+)">view/.exec(mail.html ?? '')?.[1];
  expect(await framedMessage(here(view))).toContain('and Ann.');
  expect(seen[0]).toMatchObject({
    ...{ campaignUid: campaign, listUid: list.uid, subject: 'Hi {FIRST_NAME}', preheader: '', fromName: 'News' },
    ...{ html: expect.stringContaining('<p>Hello</p>'), plain: null },
  });
  expect(Object.isFrozen(seen[0])).toBe(true);
});

test('what cannot be sent is a fault of the plugin, and the text before it is used', async () => {
  const list = await newList();
  const campaign = await newCampaign(list);
  plugin('acme/a-good', (message) => ({ ...message, html: `${message.html}<p>kept</p>` }));
  plugin('acme/b-throws', () => {
    throw new Error('Its own fault.');
  });
  plugin('acme/c-header', (message) => ({ ...message, subject: 'Hi\r\nBcc: all@victims.example' }));
  plugin('acme/d-long', (message) => ({ ...message, html: 'x'.repeat(4_194_305) }));
  plugin('acme/e-empty', (message) => ({ ...message, html: ' ', plain: null }));
  plugin(
    'acme/f-number',
    wrong((message) => ({ ...message, subject: 7 })),
  );
  plugin(
    'acme/g-late',
    wrong((message) => Promise.resolve(message)),
  );
  plugin('acme/h-writes', (message) => Object.assign(message, { subject: 'Written' }));
  const shown = await call('GET', `/campaigns/${campaign}/preview`);
  expect(String(field(shown, 'preview', 'html'))).toContain('<p>kept</p>');
  expect(field(shown, 'preview', 'subject')).toBe('Hi ');
  const faulty = app.logged
    .map((line): Record<string, unknown> => JSON.parse(line))
    .flatMap(({ event, plugin: name }) => (event === 'hook.listener_failed' ? [name] : []));
  expect(new Set(faulty)).toEqual(
    new Set(
      ['b-throws', 'c-header', 'd-long', 'e-empty', 'f-number', 'g-late', 'h-writes'].map((name) => `acme/${name}`),
    ),
  );
});

test('a template that a plugin has broken is refused with its name', async () => {
  const list = await newList();
  const campaign = await newCampaign(list);
  plugin('acme/breaks', (message) => ({ ...message, subject: '{{ oops' }));
  const answer = await call('GET', `/campaigns/${campaign}/preview`);
  expect(answer.status).toBe(422);
  expect(answer.text).toContain('The message was changed by the plugin acme/breaks.');
});

test('a campaign that is being sent is composed again when a plugin comes or goes', async () => {
  const list = await newList();
  await add(list, 'bob@composed.example');
  const campaign = await newCampaign(list, { subject: 'Before' });
  await begin(campaign);
  await app.ctx.db.execute(sql`UPDATE campaign SET status = 'sending' WHERE uid = ${campaign}`);
  const [row] = await queryRows<{ id: bigint }>(app.ctx.db, sql`SELECT id FROM campaign WHERE uid = ${campaign}`);
  const key = { customerId: owner.customerId, campaignId: row?.id ?? 0n };
  const campaigns = createActiveCampaigns();
  const links = { unsubscribe: () => 'https://x.example/u', webView: () => '', updateProfile: () => '' };
  const reader = {
    email: SAMPLE_EMAIL,
    uid: '1',
    fields: {},
    messageId: '',
    links: { ...links, click: () => '', open: () => '' },
  };
  const subjectNow = async () => {
    const inHand = await campaigns.take(app.ctx, key);
    return (await inHand?.edition.message.texts(reader))?.subject;
  };
  expect(await subjectNow()).toBe('Before');
  plugin('acme/after', (message) => ({ ...message, subject: 'After' }));
  expect(await subjectNow()).toBe('After');
  app.hooks.takeBack('acme/after');
  expect(await subjectNow()).toBe('Before');
  await app.ctx.db.execute(sql`UPDATE campaign SET status = 'paused' WHERE uid = ${campaign}`);
});
