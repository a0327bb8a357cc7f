/**
 * The pages as a person sees them, in a real browser: the inbox, the explorer, unsubscribing without script. Nothing
 * may be asked from another host. Needs Chromium (Debian's package); where there is none this file is left out.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CHROMIUM, launchChromium } from '../support/chromium.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startProgram, type Program } from '../support/program.ts';

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
    browser = await launchChromium();
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
      120_000,
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
    await expect.poll(() => page.title()).toContain('Hi <b>Ann</b>');
    const mail = page.frameLocator('iframe');
    expect(await mail.locator('h1').textContent()).toBe('Hello <b>Ann</b>');
    for (const [tab, shown] of Object.entries({
      Text: 'Hello <b>Ann</b>',
      Headers: 'List-Unsubscribe-Post',
      Source: 'MIME-Version: 1.0',
    })) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      const text = async () => (await page.locator('main').textContent())?.toLowerCase();
      await expect.poll(text).toContain(shown.toLowerCase());
    }
    expect(await page.title()).not.toContain('broken');
  });

  it('signs a person in from a page of ours, with a cookie that scripts cannot read, and out again', async () => {
    const person = { email: 'ann@tenant.example', password: 'a long and unusual password 7' };
    await rest('POST', '/customers', { ...person, first_name: 'Ann', last_name: 'Lee', timezone: 'UTC' });
    const page = await openPage({ javaScriptEnabled: true });
    await page.goto(`${program.baseUrl}/graphql/explorer`);
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
    expect(await ask(SIGN_IN, { input: { ...person, next: '/graphql/explorer?after=login' } })).toEqual([
      { signIn: { next: '/graphql/explorer?after=login' } },
      '',
    ]);
    expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Lax', path: '/' }]);
    await page.goto(`${program.baseUrl}/graphql/explorer?after=login`);
    expect(await ask(ME)).toEqual([{ me: { email: person.email } }, '']);
    await ask('mutation { logOut { __typename } }');
    expect(await page.context().cookies()).toEqual([]);
    expect(await ask(ME)).toEqual([{ me: { code: 'UNAUTHENTICATED' } }, '']);
  });

  it('uploads files from a page that is signed in, and for no page of another origin', async () => {
    const person = { email: 'admin@example.com', password: 'correct horse battery' };
    const page = await openPage({ javaScriptEnabled: true });
    await page.goto(`${program.baseUrl}/graphql/explorer`);
    const answer = await page.evaluate(async (input) => {
      const body = JSON.stringify({
        query: 'mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }',
        variables: { input },
      });
      await fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      const form = new FormData();
      form.append('file', new Blob(['Hello']), 'good.txt');
      form.append('file', new Blob([]), 'empty.txt');
      const uploaded = await fetch('/api/v1/file/upload', { method: 'POST', body: form });
      return { status: uploaded.status, body: await uploaded.json() };
    }, person);
    expect(answer).toMatchObject({
      status: 201,
      body: {
        message: '1 of 2 files uploaded',
        files: [
          { file: 'good.txt', status: 1, url: expect.stringContaining('/good.txt') },
          { file: 'empty.txt', status: 0, message: 'The file is empty.' },
        ],
      },
    });
    const names = () =>
      page.evaluate(async () => {
        const query = '{ files { ... on UploadedFileConnection { nodes { name } } } }';
        const headers = { 'content-type': 'application/json' };
        const files = await fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) });
        return (await files.json()).data.files.nodes;
      });
    expect(await names()).toEqual([{ name: 'good.txt' }]);
    // Another port is the same site for cookies: the browser sends them along, and only the origin is another.
    const form = `<form method="post" enctype="multipart/form-data" action="${program.baseUrl}/api/v1/file/upload">
      <textarea name="files">[{"url":"http://127.0.0.1/x"}]</textarea><button>Go</button></form>`;
    const cookies: unknown[] = [];
    const evil = createServer((req, res) => {
      cookies.push(req.headers.cookie);
      res.writeHead(200, { 'content-type': 'text/html' }).end(form);
    });
    evil.listen(0, '127.0.0.1');
    await once(evil, 'listening');
    const other = await page.context().newPage();
    await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
    const sent = other.waitForRequest((request) => request.url().endsWith('/file/upload'));
    await other.evaluate(async (url) => {
      const body = new FormData();
      body.append('file', new Blob(['Evil']), 'evil.txt');
      await fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body });
    }, `${program.baseUrl}/api/v1/file/upload`);
    expect(cookies[0]).toContain('mailwright_session=');
    expect((await (await sent).response())?.status()).toBe(401);
    await other.getByRole('button', { name: 'Go' }).click();
    await expect.poll(() => other.locator('body').textContent()).toContain('Unauthenticated');
    expect(await names()).toEqual([{ name: 'good.txt' }]);
    evil.close();
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
    await expect.poll(() => page.locator('main').textContent()).toMatch(/unsubscribed|no more/i);
    expect(await status()).toBe('unsubscribed');
  });

  it('runs a query in the explorer, opened from the light page', async () => {
    const page = await openPage({ javaScriptEnabled: true });
    await page.goto(`${program.baseUrl}/graphql`);
    await page.getByRole('link', { name: 'Open the explorer' }).click();
    await page.getByRole('button', { name: 'Headers' }).click();
    await page
      .locator('.graphiql-editor-tool .monaco-editor, .graphiql-editor-tools ~ section .monaco-editor')
      .last()
      .click();
    await page.keyboard.insertText(`{"Authorization": "Bearer ${program.token}"}`);
    await page.getByRole('button', { name: /Execute query/ }).click();
    await expect.poll(() => page.locator('.result-window').textContent()).toContain('admin@example.com');
  });

  it('tries calls in the REST reference, with a token and under its own policy', async () => {
    const page = await openPage({ javaScriptEnabled: true });
    const complaints: string[] = [];
    page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${program.baseUrl}/docs`);
    const open = async (id: string) => {
      const form = page.locator(`[data-try="${id}"]`);
      await form.locator('summary').click();
      await form.getByRole('button', { name: 'Send' }).waitFor();
      return form;
    };
    const send = async (form: Locator) => {
      await form.getByRole('button', { name: 'Send' }).click();
      const answer = form.getByRole('status');
      await expect.poll(() => answer.textContent()).not.toBe('Sending …');
      return answer.textContent();
    };
    const countries = await open('getCountries');
    // Without a token: the answer is shown all the same.
    expect(await send(countries)).toContain('Unauthenticated.');
    await page.getByLabel(/API token/).fill(program.token);
    // Query, body and path.
    const lists = await open('getLists');
    await lists.getByLabel('per_page').fill('1');
    await lists.getByLabel('Dialect').selectOption('standard');
    expect(await send(lists)).toContain('"per_page": 1,');
    const created = await open('postSuppressions');
    await created.getByLabel('Body').fill('{"email": "nobody@example.org"}');
    expect(await send(created)).toMatch(/^20/);
    const one = await open('getSubscribersEmailByEmail');
    await one.getByLabel('email').fill('ann@example.org');
    expect(await send(one)).toContain('"list_uid"');
    const upload = await open('postFileUpload');
    await upload.getByLabel(/^file \(file\)/).setInputFiles({
      ...{ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('A note.') },
    });
    await upload.getByLabel('Body').fill('{}');
    expect(await send(upload)).toMatch(/^20/);
    expect(complaints.filter((line) => !line.includes('401'))).toEqual([]);
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([
      0,
      0,
      '',
    ]);
  });

  it('reads the REST reference without script too', async () => {
    const page = await openPage({ javaScriptEnabled: false });
    await page.goto(`${program.baseUrl}/docs#getListsByUid`);
    const endpoint = page.locator('#getListsByUid');
    expect(await endpoint.locator('h3').textContent()).toBe('GET /api/v1/lists/{uid}');
    await endpoint.getByText('Answers').click();
    expect(await endpoint.getByRole('link', { name: 'NotFound' }).isVisible()).toBe(true);
    expect(await endpoint.getByText('Try it').isVisible()).toBe(false);
  });

  it('asked nothing of another host', () => {
    expect(foreign).toEqual([]);
  });
});
