/** The REST reference: one page with every row and what it really reads, which asks no other host. */
import { expect, test } from 'vitest';
import { openApiPath } from '../../src/rest-facade/openapi.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

test('the page has every row, with a place to link to, and every link in it leads somewhere', async () => {
  const answer = await fetch(`${app.baseUrl}/docs`);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const page = await answer.text();
  for (const { method, path } of rows)
    for (const one of [method].flat())
      expect(page).toContain(`<h3>${one} <code>/api/v1${path === '/' ? '' : openApiPath(path)}</code></h3>`);
  expect(page).toContain('<dt><code>quota_value</code> whole number</dt>');
  expect(page).toContain(
    '<dt><code>default_subject</code> text, <b>required</b></dt><dd>Also taken as <code>subject</code>.',
  );
  expect(page).toContain('List was successfully created');
  const places = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links.filter((id) => !places.has(id))).toEqual([]);
});

test('a browser that has the page gets it compressed, and not again', async () => {
  const first = await fetch(`${app.baseUrl}/docs`);
  expect(first.headers.get('content-encoding')).toBe('gzip');
  const again = await fetch(`${app.baseUrl}/docs`, { headers: { 'If-None-Match': first.headers.get('etag') ?? '' } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('everything the page needs comes from here, under a policy that allows nothing else', async () => {
  const answer = await fetch(`${app.baseUrl}/docs`);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  expect(/script-src[^;]*unsafe/.test(policy)).toBe(false);
  const page = await answer.text();
  expect(page).not.toMatch(/<script(?![^>]*src=)/);
  const wanted = [...page.matchAll(/(?:src|href|data-document)="(?!#)([^"]+)"/g)].map(([, address = '']) => address);
  expect(wanted.length).toBeGreaterThanOrEqual(3);
  for (const address of new Set(wanted)) {
    expect(address).not.toMatch(/^[a-z]+:|^\//);
    const file = await fetch(`${app.baseUrl}/${address}`);
    expect([file.status, file.headers.get('x-content-type-options')], address).toEqual([200, 'nosniff']);
    expect((await file.text()).length, address).toBeGreaterThan(100);
    const tag = file.headers.get('etag') ?? '';
    const again = await fetch(`${app.baseUrl}/${address}`, { headers: { 'If-None-Match': tag } });
    expect(again.status, address).toBe(304);
  }
});

test('the document is served to anybody, with every row', async () => {
  const answer = await fetch(`${app.baseUrl}/api/v1/openapi.json`);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const document: { openapi: string; servers: { url: string }[]; paths: Record<string, Record<string, unknown>> } =
    await answer.json();
  expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/api/v1' }] });
  for (const { method, path } of rows)
    for (const one of [method].flat()) expect(document.paths[openApiPath(path)]?.[one.toLowerCase()]).toBeDefined();
  expect((await fetch(`${app.baseUrl}/api/v1/openapi.json`, { method: 'POST' })).status).toBe(404);
});

test('the landing page leads to it', async () => {
  expect(await (await fetch(app.baseUrl)).text()).toContain('href="/docs"');
});
