/** `Allow` names the methods of the address itself, not of one with a placeholder that happens to fit. */
import { expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const LIST = '0123456789abc';

test.each([
  ['/subscribers/export', ['GET']],
  ['/subscribers/erase', ['POST']],
  [`/lists/${LIST}/subscribers/store`, ['POST']],
  ['/subscribers/42', ['GET', 'PATCH', 'DELETE']],
  ['/file/upload', ['GET', 'POST']],
])('%s', async (path, methods) => {
  for (const method of ['GET', 'POST', 'PATCH', 'PUT', 'DELETE']) {
    const { status, headers } = await app.rest(path, {
      method,
      token: null,
      ...(method === 'GET' ? {} : { body: {} }),
    });
    if (methods.includes(method)) expect([method, status]).toEqual([method, 401]);
    else expect([method, status, headers.get('allow')]).toEqual([method, 404, methods.join(', ')]);
  }
});
