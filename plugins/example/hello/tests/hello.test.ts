/** Run with: npm run plugin -- test plugins/example/hello */
import assert from 'node:assert/strict';
import { mkdtemp, readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { installation, until } from 'mailwright/plugin-testing';

const mailwright = installation();

test('a new customer is greeted by its own hook', async () => {
  const person = { first_name: 'Ada', last_name: 'L', email: 'ada@test.example', timezone: 'UTC' };
  const { status } = await mailwright.rest('/customers', {
    method: 'POST',
    body: { ...person, password: 'correct horse battery' },
  });
  assert.equal(status, 201);
  await until(() => mailwright.hooksFired('example-hello.greeted'));
});

test('GraphQL has its field, translated', async () => {
  const ask = '{ exampleGreeting(language: "de") { ... on ExampleGreetingSuccess { data } } }';
  const { exampleGreeting } = await mailwright.graphql(ask);
  assert.deepEqual(exampleGreeting, { data: 'Grüße' });
});

test('its driver sends', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hello-'));
  const server = { name: 'Folder', type: 'hello-folder', settings: { folder }, default_from_email: 'a@test.example' };
  const made = await mailwright.rest('/sending_servers', { method: 'POST', body: server });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await mailwright.sendCampaign({ to: 'bob@test.example', subject: 'Hello', html: '<p>Hello</p>' });
  await until(() => readdir(folder));
});
