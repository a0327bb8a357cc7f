/** A plugin whose listener fails, in the running product: the request succeeds, and the log and `/metrics` name the plugin. */
import { expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { withHooks } from '../support/with-hooks.ts';

const METRICS_TOKEN = 'a-token-for-the-monitoring-0123456789';

test('a listener that throws changes no answer, and is counted for the installation', async () => {
  const app = await startRestApp({ METRICS_TOKEN, ROLES: 'web,worker' });
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
  // The follower of events calls it soon.
  await expect
    .poll(() => app.logged.find((line) => line.includes('hook.listener_failed')), { timeout: 120_000 })
    .toMatch(/"plugin":"test\/faulty".*no room/);
  // The heartbeat adds the counts every three seconds.
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  await expect
    .poll(async () => (await fetch(`${app.baseUrl}/metrics`, { headers })).text(), { timeout: 120_000 })
    .toContain('mailwright_hook_failures_total{plugin="test/faulty",hook="customer_added"} 2\n');
});
