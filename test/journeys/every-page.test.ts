/**
 * Every page of the product in a real browser, on a desk and on a phone, in light and in dark: whole, labelled, readable, and nothing is
 * asked of another host. The routes come from the running server, so the page of a new one cannot be forgotten. Needs Chromium.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { CHROMIUM, launchChromium } from '../support/chromium.ts';
import { faultsOfPage } from '../support/look-at-page.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

/** Routes that answer no page of their own, with what they answer. */
const NO_PAGE: Readonly<Record<string, string>> = {
  '/healthz': 'JSON for load balancers',
  '/readyz': 'JSON for load balancers',
  '/api/v1/openapi.json': 'the document for programs',
  '/api/v1': 'JSON for programs',
  '/docs/try-request.js': 'the script of /docs',
  '/captcha': 'scripts and styles of the captcha',
  '/o': 'a picture in mails',
  '/.well-known/mailwright-host': 'a proof for programs',
  '/files': 'uploaded files',
  '/webhook': 'JSON for vendors',
  '/favicon.ico': 'a picture',
  '/plugins': 'pages of plugins, of which there is none here',
};
/** Nothing is mounted there. */
const UNKNOWN = '/nothing';
/** Html that is not ours: the author's message, for a frame, and GraphiQL. */
const NOT_OURS = /^\/preview\/.{9}|^\/graphql\/explorer/;

const WINDOWS = {
  'a desk, in light': { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  'a phone, in dark': { viewport: { width: 360, height: 640 }, colorScheme: 'dark' },
} as const satisfies Record<string, BrowserContextOptions>;

const HTML =
  '<p>Hello <a href="{WEB_VIEW_URL}">view</a> <a href="{UPDATE_PROFILE_URL}">profile</a> <a href="{UNSUBSCRIBE_URL}">leave</a></p>';

describe.skipIf(CHROMIUM === undefined)('every page', async () => {
  const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
  const owner = await app.newTenant();
  const { call, newList, newCampaign, add, done, mailTo } = mailWorld(app, owner);
  const routes = app.logged.flatMap((line): string[] => {
    const { event, routes: mounted } = JSON.parse(line);
    return event === 'http.listening' ? mounted : [];
  });
  let browser: Browser;
  /** By their paths. */
  let pages: Map<string, string>;

  beforeAll(async () => {
    browser = await launchChromium();
    const known = [...(await knownPaths()), '/graphql/explorer', '/graphql'];
    const guessed = routes.flatMap((route) => [route, `${route === '/' ? '' : route}/nothing`]);
    pages = await pagesAmong([...known, ...guessed]);
  });
  afterAll(() => browser?.close());

  /** Paths of pages that need something to be there: people, mails, an invoice. */
  async function knownPaths(): Promise<string[]> {
    const list = await newList();
    const ann = await add(list, 'ann@page.example', { FIRST_NAME: 'Ann' });
    const campaign = await newCampaign(list, { html: HTML, track_open: '0' });
    await call('POST', `/campaigns/${campaign}/run`);
    await done(campaign);
    const { html: mail } = await mailTo('ann@page.example');
    const open = await newList();
    const look = { public_signup: 1, signup_captcha: 'always', color: '#ffd400', language: 'ar' };
    await call('PATCH', `/lists/${open.uid}`, { ...look, subscribe_confirmation: 1 });
    await add(open, 'asked@page.example');
    await call('POST', '/from_addresses', { email: 'me@page.example' });
    const preview = await call('GET', `/campaigns/${campaign}/preview?subscriber=${ann}`);
    return [
      ...['u', 'view', 'profile'].map((route) => pathIn(mail, route)),
      pathIn((await mailTo('asked@page.example')).text, 'confirm'),
      pathIn((await mailTo('me@page.example')).text, 'verify-address'),
      pathIn(String(field(preview, 'preview', 'url')), 'preview'),
      pathIn(String(field(await call('POST', '/login-token'), 'url')), 'login'),
      pathIn(await checkoutUrl(), 'checkout'),
      ...[`/signup/${open.uid}`, `/signup/${list.uid}`, '/inbox/1'],
      ...['text', 'headers', 'source'].map((tab) => `/inbox/1?tab=${tab}`),
    ];
  }

  async function checkoutUrl(): Promise<string> {
    const price = { price: '19.90', currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' };
    const plan = await call('POST', '/plans', { name: 'Pro', ...price }, app.adminToken);
    const { customerId } = await app.newTenant({ hasPlan: false });
    const [customer] = await queryRows<{ uid: string }>(
      app.ctx.db,
      sql`SELECT uid FROM customer WHERE id = ${customerId}`,
    );
    const path = `/customers/${customer?.uid}/change-plan/${String(field(plan, 'plan_uid'))}`;
    const change = await call('POST', path, {}, app.adminToken);
    return String(field(change, 'checkout_url'));
  }

  /** What they answer, if it is a page; that of unknown addresses only at the root. */
  async function pagesAmong(candidates: readonly string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const path of [...new Set([UNKNOWN, ...candidates])]) {
      const answer = await fetch(app.baseUrl + path, { headers: { accept: 'text/html' } });
      const text = await answer.text();
      if (answer.headers.get('content-type')?.startsWith('text/html') && text !== found.get(UNKNOWN))
        found.set(path, text);
    }
    return found;
  }

  it('is found below its route', () => {
    expect(routes).toContain('/inbox');
    const isBelow = (route: string, path: string) => route === path || path.startsWith(`${route}/`);
    const without = routes.filter((route) => ![...pages.keys()].some((path) => isBelow(route, path)));
    const isKnown = (route: string) => Object.keys(NO_PAGE).some((one) => isBelow(one, route));
    expect(without.filter((route) => !isKnown(route))).toEqual([]);
  });

  it.each(Object.keys(WINDOWS) as (keyof typeof WINDOWS)[])('is whole on %s', async (window) => {
    const faults: string[] = [];
    const page = await openPage(WINDOWS[window], faults);
    // Of several that are alike, one.
    for (const path of new Map([...pages].map(([path, text]) => [text, path])).values()) {
      const before = faults.length;
      await page.goto(app.baseUrl + path);
      if (!NOT_OURS.test(path)) faults.push(...(await faultsOfPage(page)));
      // What a form answers, filled in or not.
      if (!/^\/(inbox|docs|preview)/.test(path) && (await submit(page))) faults.push(...(await faultsOfPage(page)));
      faults.splice(before, Infinity, ...faults.slice(before).map((fault) => `${path}: ${fault}`));
    }
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('would be found with every fault', async () => {
    const page = await openPage(WINDOWS['a desk, in light'], []);
    await page.setContent(`<h1>One</h1><h1>Two</h1><input id="a"><img id="a" src="data:,"><a href="/"></a>
      <p style="color: #777; background: #eee">pale</p><p style="opacity: .5">half</p><button disabled style="color: #eee">off</button>
      <details><summary>more</summary><div style="width: 2000px; color: rgb(255 0 0 / 40%)">wide</div></details>`);
    expect((await faultsOfPage(page)).map((fault) => fault.split(/[:,]/, 1)[0])).toEqual([
      ...['The page has no title.', 'The page has no language.', '2 of h1', '0 of main'],
      ...['It is 728 px wider than the window', 'It has no label', 'It has no label', 'It has no alt'],
      ...['The id a is there twice.', 'A contrast of 3.86', 'A contrast of 3.98', 'A contrast of 2.05'],
    ]);
    await page.context().close();
  });

  it('is whole at / for an administrator', async () => {
    const faults: string[] = [];
    const headers = { extraHTTPHeaders: { authorization: `Bearer ${app.adminToken}` } };
    const page = await openPage({ ...WINDOWS['a phone, in dark'], ...headers }, faults);
    await page.goto(`${app.baseUrl}/`);
    await page.getByText('You are logged in as an administrator').waitFor();
    expect([...faults, ...(await faultsOfPage(page))]).toEqual([]);
    await page.context().close();
  });

  /** A page that notes its faults: errors in the console, and requests to other hosts. */
  async function openPage(options: BrowserContextOptions, faults: string[]): Promise<Page> {
    const context = await browser.newContext(options);
    // Less than a test may take, so that the step is named that does not come.
    context.setDefaultTimeout(120_000);
    const page = await context.newPage();
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (line) => {
      // The browser says so of a page that is meant to have such a status.
      const isStatus = line.location().url === page.url() && line.text().includes('responded with a status of 4');
      if (line.type() === 'error' && !isStatus) faults.push(line.text());
    });
    page.on('request', (request) => {
      const isOurs = [app.baseUrl, 'data:', 'blob:'].some((start) => request.url().startsWith(start));
      if (!isOurs) faults.push(`It asked for ${request.url()}.`);
    });
    return page;
  }

  /** Sends the first form of the page, without the checks of the browser; false: it has none. */
  async function submit(page: Page): Promise<boolean> {
    const form = page.locator('main form[method=post]').first();
    if ((await form.count()) === 0) return false;
    const answered = page.waitForEvent('load');
    await form.evaluate((element: HTMLFormElement) => element.submit());
    await answered;
    return true;
  }
});

/** The path of this route in a text. */
function pathIn(text: string | undefined, route: string): string {
  const found = new RegExp(`http://[^/\\s]+(/${route}/[^\\s"<>]+)`).exec(text ?? '')?.[1];
  if (found === undefined) throw new Error(`There is no address of /${route} in ${text}`);
  return found;
}
