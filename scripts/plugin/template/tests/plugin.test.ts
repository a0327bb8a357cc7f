/** Run by `npm run plugin -- test <folder>`, on an installation that is started for these tests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installation, until } from 'mailwright/plugin-testing';

const mailwright = installation();

test('the plugin is active', async () => {
  const { body } = await mailwright.rest('/plugins');
  assert.ok(Array.isArray(body));
  const found = body.find(({ vendor, name }) => `${vendor}/${name}` === mailwright.plugin);
  assert.equal(found.status, 'active');
  assert.equal(found.error, null);
  await until(() => mailwright.hooksFired(`activate_plugin_${mailwright.plugin}`));
});

test('it sees new customers while it is active', async () => {
  const customer = { first_name: 'Ada', last_name: 'Lovelace', password: 'correct horse battery', timezone: 'UTC' };
  const { status, body } = await mailwright.rest('/customers', {
    method: 'POST',
    body: { ...customer, email: 'ada@example.com' },
  });
  assert.equal(status, 201, JSON.stringify(body));
  await until(async () => (await mailwright.log()).some((line) => line.includes('saw_customer')));
});

test('it can be deactivated and activated again', async () => {
  await mailwright.deactivate();
  await mailwright.activate();
});
