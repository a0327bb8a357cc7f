/** The dry run of a draft over REST, and the same over GraphQL. */
import { expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const [own, stranger] = [await newWorld(app, smtp), await newWorld(app, smtp)];
const look = (query: string, token = own.token) =>
  app.rest(`/automations/${own.automationUid}/dry_run?${query}`, { method: 'GET', token });

test('says what the draft would have done, over both entry points', async () => {
  const from = new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  const { status, body, text } = await look(`email=${own.subscriberEmail}&from=${from}Z&without_triggers=1`);
  expect(status, text).toBe(200);
  const step = { node: 'rest', what: 'passed', port: 'next', reason: null };
  expect(body).toMatchObject({
    ...{
      draft_version: 1,
      ...{ people: 1, triggers_left_out: [], cut_off: false },
      counts: [{ node: 'rest', entered: 1, passed: 1, left: 0, parked: 0, waits: 0, stopped: 0 }],
    },
    paths: [
      {
        ...{ subscriber_uid: own.subscriberUid, trigger: 'execute', refused: null },
        steps: [{ ...step, at: expect.any(String) }],
      },
    ],
  });
  const query =
    'query ($uid: String!, $from: DateTime) { it: automationDryRun(uid: $uid, segmentUid: "", subscriber: "' +
    own.subscriberUid +
    '", from: $from, withoutTriggers: true) { ... on AutomationDryRun { draftVersion paths { subscriberUid steps { node what port reason } } } } }';
  const headers = { Authorization: `Bearer ${own.token}`, 'Content-Type': 'application/json' };
  const variables = { uid: own.automationUid, from: `${from}Z` };
  const asked = { method: 'POST', headers, body: JSON.stringify({ query, variables }) };
  expect(JSON.parse(await (await fetch(`${app.baseUrl}/graphql`, asked)).text())).toEqual({
    data: { it: { draftVersion: 1, paths: [{ subscriberUid: own.subscriberUid, steps: [step] }] } },
  });
});

test.each([
  ['nobody', ''],
  ['a person and a segment', `subscriber=${own.subscriberUid}&segment_uid=${own.segmentUid}`],
  ['a time to come', `subscriber=${own.subscriberUid}&from=2040-01-01T00:00:00Z`],
])('%s is refused', async (_name, query) => {
  expect((await look(query)).status).toBe(422);
});

test('belongs to who owns the automation, the person and the segment', async () => {
  expect((await look(`subscriber=${stranger.subscriberUid}`)).status).toBe(403);
  expect((await look(`segment_uid=${stranger.segmentUid}`)).status).toBe(403);
  expect((await look(`subscriber=${stranger.subscriberUid}`, stranger.token)).status).toBe(403);
});
