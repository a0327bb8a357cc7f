/** Signing up with a captcha in a real browser, on a phone. Nothing is asked of another host. Needs Chromium. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium } from '../support/chromium.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { TINY_PNG } from '../support/tiny-png.ts';

const PHONE = { width: 360, height: 640 };

describe.skipIf(CHROMIUM === undefined)('signing up with a captcha', async () => {
  const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
  const owner = await app.newTenant();
  const { call, newList, mailTo } = mailWorld(app, owner);
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  async function pageOf(options: { javaScriptEnabled: boolean; colorScheme?: 'light' | 'dark' }, look: object = {}) {
    const { uid } = await newList();
    await call('PATCH', `/lists/${uid}`, { public_signup: 1, signup_captcha: 'always', ...look });
    const context = await browser.newContext({ ...options, viewport: PHONE });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(app.baseUrl)) complaints.push(request.url());
    });
    await page.goto(`${app.baseUrl}/signup/${uid}`);
    return { page, complaints };
  }

  it('works by keyboard, fits a phone, and keeps to the policy of the page', async () => {
    const { page, complaints } = await pageOf({ javaScriptEnabled: true });
    await page.getByLabel('Email').focus();
    await page.keyboard.type('ann@browser.example');
    await expect.poll(() => page.locator('input[name=altcha]').inputValue(), { timeout: 120_000 }).not.toBe('');
    expect(await page.getByText('Signing up needs JavaScript').count()).toBe(0);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: 'Subscribe' }).press('Enter');
    await page.getByText('Please check your mailbox').waitFor();
    expect((await mailTo('ann@browser.example')).subject).not.toBe('');
    expect(complaints).toEqual([]);
  });

  it.each([
    ['light', 'rgb(27, 27, 31)'],
    ['dark', 'rgb(255, 212, 0)'],
  ] as const)('shows the logo and the color of the list, readable in %s mode', async (colorScheme, heading) => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(TINY_PNG)]), 'logo.png');
    const file = await app.rest('/file/upload', { method: 'POST', body: form, token: owner.token });
    const look = { color: '#ffd400', logo: field(file, 'file_uid') };
    const { page, complaints } = await pageOf({ javaScriptEnabled: true, colorScheme }, look);
    const picture = page.locator('img.logo');
    expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
    const styleOf = (selector: string) =>
      page.locator(selector).evaluate((element) => {
        const { color, backgroundColor } = getComputedStyle(element);
        return { color, backgroundColor };
      });
    expect(await styleOf('button[type=submit]')).toEqual({
      ...{ color: 'rgb(0, 0, 0)', backgroundColor: 'rgb(255, 212, 0)' },
    });
    expect((await styleOf('h1')).color).toBe(heading);
    expect(complaints).toEqual([]);
  });

  it('says that it needs a script where there is none', async () => {
    const { page } = await pageOf({ javaScriptEnabled: false });
    expect(await page.getByText('Signing up needs JavaScript').isVisible()).toBe(true);
  });
});
