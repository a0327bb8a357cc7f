/** Pages of a plugin in a real browser, on a phone: forms work, hostile values do nothing, nothing is loaded from elsewhere. Needs Chromium. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium } from '../support/chromium.ts';
import { faultsOfPage } from '../support/look-at-page.ts';
import { pagesPlugin, sessionCookieOf } from '../support/pages-plugin.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { startRestApp } from '../support/rest-app.ts';

const PHONE = { width: 360, height: 640 };
const HOSTILE = [
  '<script>document.documentElement.dataset.hacked = "yes"</script>',
  '<img src=x onerror="document.documentElement.dataset.hacked = 1">',
  '"><svg onload="document.documentElement.dataset.hacked = 1">',
  "' autofocus onfocus='document.documentElement.dataset.hacked = 1",
  'javascript:void(document.documentElement.dataset.hacked = 1)',
];

describe.skipIf(CHROMIUM === undefined)('pages of a plugin', async () => {
  const dataDir = newDataDir();
  const app = await startRestApp({ DATA_DIR: dataDir });
  const tenant = await app.newTenant();
  const base = `${app.baseUrl}/plugins/acme/notes/pages`;
  let browser: Browser;
  beforeAll(async () => {
    writePlugin(dataDir, 'acme/notes', pagesPlugin);
    const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
    expect(await client.activate('acme/notes')).toMatchObject({ status: 'ACTIVE' });
    await switchedOnByAll(app.ctx, 'acme/notes');
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  async function newPage(colorScheme: 'light' | 'dark' = 'light') {
    const context = await browser.newContext({ viewport: PHONE, colorScheme });
    context.setDefaultTimeout(60_000);
    const [name = '', value = ''] = (await sessionCookieOf(app, tenant.token)).split('=');
    await context.addCookies([{ name, value, url: app.baseUrl }]);
    const page = await context.newPage();
    const elsewhere: string[] = [];
    page.on('request', (request) => request.url().startsWith(app.baseUrl) || elsewhere.push(request.url()));
    page.on('dialog', (dialog) => {
      elsewhere.push('dialog');
      void dialog.dismiss();
    });
    return { page, elsewhere };
  }

  /** What scripts have written on the page. A script of the page runs after its text is shown, and before it is loaded. */
  async function dataOf(page: Page) {
    await page.waitForLoadState();
    return page.evaluate(() => ({ ...document.documentElement.dataset }));
  }

  it('a form is sent by keyboard, and the files of the plugin are loaded, not those for administrators', async () => {
    const { page, elsewhere } = await newPage();
    await page.goto(`${base}/notes`);
    await page.getByLabel('Text').fill('typed in a browser');
    await page.getByLabel('Text').press('Enter');
    await page.getByText('typed in a browser').waitFor();
    expect(page.url()).toBe(`${base}/notes?saved=1`);
    expect(await dataOf(page)).toEqual({ app: 'ran' });
    expect(
      await page
        .locator('li')
        .first()
        .evaluate((item) => getComputedStyle(item).letterSpacing),
    ).toBe('3px');
    expect(elsewhere).toEqual([]);
  });

  it('hostile values are shown and do nothing', async () => {
    const { page, elsewhere } = await newPage();
    for (const text of HOSTILE) {
      await page.goto(`${base}/notes?mark=${encodeURIComponent(text)}`);
      await page.getByLabel('Text').fill(text);
      await page.getByRole('button', { name: 'Add' }).click();
      await page
        .locator('li', { hasText: text.slice(0, 20) })
        .first()
        .waitFor();
    }
    await page.goto(`${base}/notes?mark=${encodeURIComponent(HOSTILE.at(-1) ?? '')}`);
    await page.getByRole('link', { name: 'Link' }).click();
    await page.goto(`${base}/settings`);
    for (const text of HOSTILE) {
      await page.getByLabel('Name').fill(text.slice(0, 40));
      const answered = page.waitForEvent('load');
      await page.getByRole('button').click();
      await answered;
      expect(await page.getByRole('status').count()).toBe(1);
      expect(await page.getByLabel('Name').inputValue()).toBe(text.slice(0, 40));
    }
    expect(await dataOf(page)).toEqual({ app: 'ran' });
    expect(elsewhere).toEqual([]);
  });

  it.each(['light', 'dark'] as const)(
    'they are readable on a phone in %s mode, with labels and landmarks',
    async (mode) => {
      const { page } = await newPage(mode);
      for (const path of ['notes', 'settings']) {
        await page.goto(`${base}/${path}`);
        expect(await faultsOfPage(page)).toEqual([]);
      }
      // With faults, too.
      await page.getByLabel('Tries').evaluate((input) => input.setAttribute('type', 'text'));
      await page.getByLabel('Tries').fill('many');
      await page.getByRole('button').click();
      await page.getByText('must be a number').waitFor();
      expect(await faultsOfPage(page)).toEqual([]);
    },
  );
});
