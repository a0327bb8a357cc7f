/** The page at `/`: strangers see how to begin, administrators what to do next, and nobody else sees what is wrong. */
import { expect, it } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

async function page(token?: string): Promise<string> {
  const headers = { accept: 'text/html', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const answer = await fetch(`${app.baseUrl}/`, { headers });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return answer.text();
}

it('says how to begin, and to administrators what to do next', async () => {
  const forStranger = await page();
  expect(forStranger).toContain('You are not logged in.');
  expect(forStranger).toContain('/api/v1/login-token');
  const forAdministrator = await page(app.adminToken);
  expect(forAdministrator).toContain('logged in as an administrator');
  expect(forAdministrator).toContain('Add a sending server');
  const { token } = await app.newTenant();
  const forUser = await page(token);
  expect(forUser).toContain('You are logged in.');
  for (const text of [forStranger, forUser]) expect(text).not.toContain('Add a sending server');
});
