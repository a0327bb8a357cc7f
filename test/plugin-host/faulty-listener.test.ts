/** A plugin whose listener fails, in the running product: the request succeeds, and the log and `/metrics` name the plugin. */
import { expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { withHooks } from '../support/with-hooks.ts';

const METRICS_TOKEN = 'a-token-for-the-monitoring-0123456789';

test('a listener that throws changes no answer, and is counted for the installation', async () => {
  const app = await startRestApp({ METRICS_TOKEN });
  withHooks(app.hooks, {
    name: 'test/faulty',
    boot: (hooks) =>
      hooks.on('customer_added', () => {
        throw new Error('no room');
      }),
  });
  for (const name of ['ada', 'bob']) {
    const body = { email: `${name}@example.com`, password: 'correct horse battery', first_name: name, last_name: 'B' };
    expect((await app.rest('/customers', { method: 'POST', body })).status).toBe(201);
  }
  expect(app.logged.find((line) => line.includes('hook.listener_failed'))).toMatch(/"plugin":"test\/faulty".*no room/);
  // The heartbeat adds the counts every three seconds.
  await expect
    .poll(async () => {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      return (await fetch(`${app.baseUrl}/metrics`, { headers })).text();
    })
    .toContain('mailwright_hook_failures_total{plugin="test/faulty",hook="customer_added"} 2\n');
});
