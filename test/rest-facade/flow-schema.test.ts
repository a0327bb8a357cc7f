/** The JSON Schema of flows: served by the product, and of one opinion with the check of flows. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { checkFlow } from '../../src/domain/automations/flow/check-flow.ts';
import { randomHistory } from '../flow-model/random-history.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const response = await fetch(`${app.baseUrl}/api/v1/flow.schema.json`);
const schema: unknown = JSON.parse(await response.text());
const ajv = new Ajv2020({ strict: false });
const isFlow = ajv.compile(schema as object);

test('it is served with its own address, and other tools read it', async () => {
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/schema+json; charset=utf-8',
  ]);
  expect(schema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: expect.stringMatching(/\/api\/v1\/flow\.schema\.json$/),
  });
  expect(JSON.stringify(schema).length).toBeLessThan(100_000);
});

test('it accepts flows that the check accepts', () => {
  const flows = Array.from({ length: 400 }, (_one, seed) => randomHistory(seed).flows).flat();
  const refused = flows.filter((flow) => checkFlow(flow).flow !== undefined && !isFlow(flow));
  expect(refused).toEqual([]);
  expect(flows.filter((flow) => checkFlow(flow).flow !== undefined).length).toBeGreaterThan(100);
});

const UID = '0123456789abc';
const mail = { id: 'mail', type: 'send_mail', templateUid: UID };
/** The names of all properties in it. */
function* namesIn(part: unknown): Generator<string> {
  if (typeof part !== 'object' || part === null) return;
  for (const [name, inner] of Object.entries(part)) {
    if (name === 'properties') yield* Object.keys(Object(inner));
    yield* namesIn(inner);
  }
}

test('the manual names each property of a flow', () => {
  const manual = path.resolve(import.meta.dirname, '../../docs/manual');
  const pages = ['automations', 'events', 'segments'].map((page) => readFileSync(`${manual}/${page}.md`, 'utf8'));
  const named = new Set(pages.join().match(/\w+/g));
  const names = [...new Set(namesIn(schema))];
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name) => !named.has(name))).toEqual([]);
});

const flowWith = (parts: object) => ({
  ...{ triggers: [{ type: 'execute' }], nodes: [mail], edges: [{ from: 'start', to: 'mail' }], ...parts },
});
const asking = (asked: unknown) => flowWith({ nodes: [{ id: 'mail', type: 'condition', if: asked }] });
const nested = (levels: number): object =>
  levels === 0 ? { person: { status: ['subscribed'] } } : { all: [nested(levels - 1)] };

test.each<[string, object]>([
  ['a flow', flowWith({})],
  ['conditions of five levels', asking(nested(4))],
  ['a rule of a field', asking({ person: { any: [{ field: { tag: 'LEVEL', text: { is: 'gold' } } }] } })],
  ['a value of the payload', asking({ payload: { path: 'cart.total', number: { gte: 50 } } })],
  ['a goal', flowWith({ goals: [{ id: 'bought', event: { type: 'event', name: 'order_paid' } }] })],
])('%s is accepted by both', (_name, flow) => {
  expect(checkFlow(flow).faults).toEqual([]);
  expect(isFlow(flow), JSON.stringify(isFlow.errors)).toBe(true);
});

test.each<[string, object]>([
  ['an unknown property', flowWith({ color: 'red' })],
  ['an unknown type of node', flowWith({ nodes: [{ id: 'mail', type: 'dance' }] })],
  ['a mail without a template', flowWith({ nodes: [{ id: 'mail', type: 'send_mail' }] })],
  ['two durations', flowWith({ nodes: [{ id: 'mail', type: 'wait', for: { days: 1, hours: 1 } }] })],
  ['no duration', flowWith({ nodes: [{ id: 'mail', type: 'wait', for: {} }] })],
  ['the id “start”', flowWith({ nodes: [{ ...mail, id: 'start' }] })],
  ['conditions of six levels', asking(nested(5))],
  ['two questions', asking({ person: { status: ['subscribed'] }, payload: { path: 'x', isPresent: true } })],
  ['an unknown condition of a segment', asking({ person: { shoeSize: { is: 42 } } })],
  ['two conditions of a segment', asking({ person: { status: ['subscribed'], source: { is: 'x' } } })],
  ['two comparisons', asking({ person: { source: { is: 'x', isNot: 'y' } } })],
  ['a field without a comparison', asking({ person: { field: { tag: 'LEVEL' } } })],
  [
    'a goal of two kinds',
    flowWith({ goals: [{ id: 'x', event: { type: 'opened' }, person: { source: { is: 'x' } } }] }),
  ],
  ['eleven triggers', flowWith({ triggers: Array.from({ length: 11 }, () => ({ type: 'execute' })) })],
])('%s is refused by both', (_name, flow) => {
  expect(checkFlow(flow).faults).not.toEqual([]);
  expect(isFlow(flow)).toBe(false);
});
