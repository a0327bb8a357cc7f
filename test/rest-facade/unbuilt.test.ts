/** Endpoints of parts that are not built answer by rights like all others: 401, 403, and only then 404. */
import { expect, test } from 'vitest';
import { unbuiltRows } from '../../src/rest-facade/unbuilt-rows.ts';
import { startRestApp } from '../support/rest-app.ts';
import { later } from './contract-table.ts';

const app = await startRestApp();
const customer = await app.newTenant();

test('are those of the contract', () => {
  expect(unbuiltRows.map(({ method, path }) => [method, path])).toEqual(later);
});

test.each(unbuiltRows)('$method $path', async ({ method, path, access }) => {
  const ask = async (token: string | null) => {
    const response = await fetch(`${app.baseUrl}/api/v1${path.replace(/:\w+/g, 'x')}`, {
      method: String(method),
      headers: token === null ? {} : { Authorization: `Bearer ${token}` },
    });
    return [response.status, Object(await response.json()).message, response.headers.get('allow')];
  };
  const missing = [404, 'There is no such endpoint.', null];
  expect(await ask(null)).toEqual([401, 'Unauthenticated.', null]);
  expect(await ask('x'.repeat(60))).toEqual([401, 'Unauthenticated.', null]);
  expect(await ask(customer.token)).toEqual(
    access === 'admin' ? [403, 'This needs the token of an administrator.', null] : missing,
  );
  expect(await ask(app.adminToken)).toEqual(missing);
});
