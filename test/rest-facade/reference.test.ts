/** The REST reference: every row is in it, with the parameters that it really reads. */
import { expect, test } from 'vitest';
import { rows } from '../../src/rest-facade/rows.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

test('the page names every row', async () => {
  const answer = await fetch(`${app.baseUrl}/docs`);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  const page = await answer.text();
  for (const { path } of rows) expect(page).toContain(`<code>/api/v1${path === '/' ? '' : path}</code>`);
  expect(page).toContain('<code>default_from_email</code>, <code>quota_value</code> (number)');
});

test('the landing page leads to it', async () => {
  expect(await (await fetch(app.baseUrl)).text()).toContain('href="/docs"');
});
