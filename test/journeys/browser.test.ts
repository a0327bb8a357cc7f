/**
 * The pages as a person sees them, in a real browser: the inbox, the explorer, unsubscribing without script. Nothing
 * may be asked from another host. Needs Chromium (Debian's package); where there is none this file is left out.
 */
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestDatabase } from '../support/test-database.ts';
import { startProgram, type Program } from '../support/program.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
/** Chromium asks its maker's hosts for this and that unless told otherwise; as root it wants no sandbox. */
const QUIET = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
];

const contact = {
  company: 'Acme',
  address_1: '1 High Street',
  city: 'Springfield',
  state: 'CA',
  zip: '12345',
  phone: '1',
  country_id: 1,
  email: 'a@acme.example',
};
const sender = { from_email: 'news@acme.example', from_name: 'Acme' };

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  let program: Program;
  let browser: Browser;
  const foreign: string[] = [];

  beforeAll(async () => {
    const { url } = await createTestDatabase();
    program = await startProgram({ DATABASE_URL: url, INBOX: 'on', INBOX_SMTP_PORT: '0' });
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: QUIET });
    await sendOneCampaign();
  });
  afterAll(() => browser?.close());

  async function rest(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await fetch(`${program.baseUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  }

  async function sendOneCampaign(): Promise<void> {
    const { list_uid } = await rest('POST', '/lists', { name: 'Friends', default_subject: 'News', ...sender, contact });
    await rest('POST', '/subscribers', { list_uid, EMAIL: 'ann@example.org', FIRST_NAME: '<b>Ann</b>' });
    const html =
      '<h1>Hello {FIRST_NAME}</h1><p><a href="https://example.com/">offer</a></p><script>document.title="broken"</script>';
    const { campaign_uid } = await rest('POST', '/campaigns', {
      list_uid,
      name: 'News',
      subject: 'Hi {FIRST_NAME}',
      ...sender,
      html,
    });
    await rest('POST', `/campaigns/${String(campaign_uid)}/run`);
    await vi.waitFor(
      async () =>
        expect(await rest('GET', `/campaigns/${String(campaign_uid)}`)).toMatchObject({ campaign: { status: 'done' } }),
      60_000,
    );
  }

  async function openPage(options: { javaScriptEnabled: boolean }): Promise<Page> {
    const context = await browser.newContext(options);
    // Less than a test may take, so that the step is named that does not come.
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    page.on('request', (request) => {
      if (
        !request.url().startsWith(program.baseUrl) &&
        !request.url().startsWith('data:') &&
        !request.url().startsWith('blob:')
      )
        foreign.push(request.url());
    });
    return page;
  }

  it('shows a mail in the inbox, harmless, in all its forms', async () => {
    const page = await openPage({ javaScriptEnabled: true });
    await page.goto(`${program.baseUrl}/inbox`);
    await page.getByRole('link', { name: /Hi/ }).click();
    expect(await page.title()).toContain('Hi <b>Ann</b>');
    const mail = page.frameLocator('iframe');
    expect(await mail.locator('h1').textContent()).toBe('Hello <b>Ann</b>');
    for (const [tab, shown] of Object.entries({
      Text: 'Hello <b>Ann</b>',
      Headers: 'List-Unsubscribe-Post',
      Source: 'MIME-Version: 1.0',
    })) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      expect((await page.locator('main').textContent())?.toLowerCase()).toContain(shown.toLowerCase());
    }
    expect(await page.title()).not.toContain('broken');
  });

  it('signs a person in from a page of ours, with a cookie that scripts cannot read, and out again', async () => {
    const person = { email: 'ann@tenant.example', password: 'a long and unusual password 7' };
    await rest('POST', '/customers', { ...person, first_name: 'Ann', last_name: 'Lee', timezone: 'UTC' });
    const page = await openPage({ javaScriptEnabled: true });
    await page.goto(`${program.baseUrl}/graphql`);
    const ask = (query: string, variables: object = {}) =>
      page.evaluate(async (body) => {
        const answer = await fetch('/graphql', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        return [(await answer.json()).data, document.cookie];
      }, JSON.stringify({ query, variables }));
    const ME = '{ me { ... on User { email } ... on Error { code } } }';
    const SIGN_IN =
      'mutation ($input: SignInInput!) { signIn(input: $input) { ... on SignedIn { next } ... on Error { message } } }';
    expect(await ask(SIGN_IN, { input: { ...person, next: '/graphql?after=login' } })).toEqual([
      { signIn: { next: '/graphql?after=login' } },
      '',
    ]);
    expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Lax', path: '/' }]);
    await page.goto(`${program.baseUrl}/graphql?after=login`);
    expect(await ask(ME)).toEqual([{ me: { email: person.email } }, '']);
    await ask('mutation { logOut { __typename } }');
    expect(await page.context().cookies()).toEqual([]);
    expect(await ask(ME)).toEqual([{ me: { code: 'UNAUTHENTICATED' } }, '']);
  });

  it('unsubscribes without script, by a button and not by looking', async () => {
    const { messages } = (await (await fetch(`${program.baseUrl}/inbox/messages`)).json()) as {
      messages: { id: number }[];
    };
    const mail = await (await fetch(`${program.baseUrl}/inbox/messages/${messages[0]?.id}`)).text();
    const link = /http:\/\/127\.0\.0\.1:\d+\/u\/[\w-]+/.exec(mail)?.[0] ?? '';
    const page = await openPage({ javaScriptEnabled: false });
    await page.goto(link);
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    const status = async (): Promise<unknown> => {
      const { subscribers } = (await rest('GET', '/subscribers/email/ann@example.org')) as {
        subscribers: { status: string }[];
      };
      return subscribers[0]?.status;
    };
    expect(await status()).toBe('subscribed');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    expect(await page.locator('main').textContent()).toMatch(/unsubscribed|no more/i);
    expect(await status()).toBe('unsubscribed');
  });

  it('runs a query in the explorer', async () => {
    const page = await openPage({ javaScriptEnabled: true });
    await page.goto(`${program.baseUrl}/graphql`);
    await page.getByRole('button', { name: 'Headers' }).click();
    await page
      .locator('.graphiql-editor-tool .monaco-editor, .graphiql-editor-tools ~ section .monaco-editor')
      .last()
      .click();
    await page.keyboard.insertText(`{"Authorization": "Bearer ${program.token}"}`);
    await page.getByRole('button', { name: /Execute query/ }).click();
    await expect.poll(() => page.locator('.result-window').textContent()).toContain('admin@example.com');
  });

  it('reads the REST reference, and tries a call in it, under its own policy', async () => {
    const page = await openPage({ javaScriptEnabled: true });
    const complaints: string[] = [];
    page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${program.baseUrl}/docs`);
    await page.locator('.opblock').first().waitFor();
    expect(await page.locator('#plain').isVisible()).toBe(false);
    const block = (method: string, path: string) =>
      page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) });
    // A long reference shows what is in sight only.
    const look = (words: string) => page.locator('.operation-filter-input').fill(words);
    await look('/lists');
    await block('post', '/lists').locator('.opblock-summary').click();
    const opened = () => block('post', '/lists').textContent();
    await expect.poll(opened).toContain('List was successfully created');
    // Stands behind a reference, and what it refers to.
    expect(await opened()).toContain('The object does not exist.');
    expect(await opened()).toContain('Unauthenticated.');
    const call = block('get', '/countries');
    await look('/countries');
    await call.locator('.opblock-summary').click();
    await call.getByRole('button', { name: 'Try it out' }).click();
    await call.getByRole('button', { name: 'Execute' }).click();
    // Without a token: the answer is shown all the same.
    await expect.poll(() => call.locator('.live-responses-table').textContent()).toContain('Unauthenticated.');
    expect(complaints.filter((line) => !line.includes('401'))).toEqual([]);
  });

  it('reads the REST reference without script too', async () => {
    const page = await openPage({ javaScriptEnabled: false });
    await page.goto(`${program.baseUrl}/docs`);
    expect(await page.locator('#plain table').textContent()).toContain('/api/v1/lists/:uid');
  });

  it('asked nothing of another host', () => {
    expect(foreign).toEqual([]);
  });
});
