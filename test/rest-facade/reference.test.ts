/** The REST reference: a plain page with every row and what it really reads, and a viewer that asks no other host. */
import { expect, test } from 'vitest';
import { openApiPath } from '../../src/rest-facade/openapi.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

test('the page names every row', async () => {
  const answer = await fetch(`${app.baseUrl}/docs`);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const page = await answer.text();
  for (const { path } of rows) expect(page).toContain(`<code>/api/v1${path === '/' ? '' : path}</code>`);
  expect(page).toContain('<code>default_from_email</code>, <code>quota_value</code> (number)');
  expect(page).toContain('<code>default_subject</code> or <code>subject</code> (required)');
});

test('everything the page needs comes from here, under a policy that allows nothing else', async () => {
  const answer = await fetch(`${app.baseUrl}/docs`);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  expect(/script-src[^;]*unsafe/.test(policy)).toBe(false);
  const page = await answer.text();
  expect(page).not.toMatch(/<script(?![^>]*src=)/);
  const wanted = [...page.matchAll(/(?:src|href|data-document)="(?!data:)([^"]+)"/g)].map(
    ([, address = '']) => address,
  );
  expect(wanted.length).toBeGreaterThanOrEqual(4);
  let tagged = 0;
  for (const address of new Set(wanted)) {
    expect(address).not.toMatch(/^[a-z]+:|^\//);
    const file = await fetch(`${app.baseUrl}/${address}`);
    expect([file.status, file.headers.get('x-content-type-options')], address).toEqual([200, 'nosniff']);
    expect((await file.text()).length, address).toBeGreaterThan(100);
    const tag = file.headers.get('etag');
    // Pages are made anew.
    if (tag === null) continue;
    tagged += 1;
    const again = await fetch(`${app.baseUrl}/${address}`, { headers: { 'If-None-Match': tag } });
    expect(again.status, address).toBe(304);
  }
  expect(tagged).toBe(4);
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
