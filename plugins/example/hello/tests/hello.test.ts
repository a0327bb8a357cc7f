/** Run with: npm run plugin -- test plugins/example/hello */
import assert from 'node:assert/strict';
import { mkdtemp, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { installation, until } from 'mailwright/plugin-testing';

const mailwright = installation();

test('a new customer is greeted by its own hook', async () => {
  const login = { email: 'ada@test.example', password: 'correct horse battery' };
  const body = { first_name: 'Ada', last_name: 'L', timezone: 'UTC', ...login };
  assert.equal((await mailwright.rest('/customers', { method: 'POST', body })).status, 201);
  await until(() => mailwright.hooksFired('example-hello.greeted'));
  await until(async () => (await mailwright.log()).some((line) => line.includes('greeted')));
});

test('GraphQL has its field, translated', async () => {
  const ask = '{ exampleGreeting(language: "de") { ... on ExampleGreetingSuccess { data } } }';
  assert.deepEqual(await mailwright.graphql(ask), { exampleGreeting: { data: 'Grüße' } });
  assert.deepEqual((await mailwright.rest('/hello/greeting?language=de')).body, { data: 'Grüße' });
  assert.match(await (await fetch(`${mailwright.baseUrl}/plugins/example/hello`)).text(), /<h1>/);
});

test('messages have its tag, filter and subject', async () => {
  await mailwright.rest(`/me/plugins/${mailwright.plugin}/switch-on`, { method: 'POST' });
  const html = '<p>{EXAMPLE_GREETING} {{ "ada" | example_shout }}</p>';
  await mailwright.sendCampaign({ to: 'ada@test.example', subject: 'Hello', html });
  const [mail] = await until(() => mailwright.mails('ada@test.example'));
  assert.equal(mail?.subject, 'Hello!');
  assert.match(mail?.html ?? '', /Hi ada@test.example ADA!/);
});

test('its driver sends', async () => {
  const folder = await mkdtemp(path.join(mailwright.dataDir, 'sent-'));
  const server = { name: 'Folder', type: 'hello-folder', settings: { folder }, default_from_email: 'a@test.example' };
  await mailwright.rest('/sending_servers', { method: 'POST', body: server });
  await mailwright.sendCampaign({ to: 'bob@test.example', subject: 'Hello', html: '<p>Hello</p>' });
  await until(() => readdir(folder));
});
