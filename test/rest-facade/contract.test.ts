/**
 * The contract is complete (bar 1): the table of the specification, the rows and the OpenAPI document name the same
 * endpoints with the same rights, statuses and shapes, and every one of them answers so over HTTP, in both dialects.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, describe, expect, test } from 'vitest';
import { openApiPath } from '../../src/rest-facade/openapi.ts';
import type { JsonSchema } from '../../src/rest-facade/openapi-schemas.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { theContract } from '../support/contract.ts';
import { placesOf, playRow } from '../support/play-row.ts';
import { startRestApp } from '../support/rest-app.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { decided, extensions, specified } from './contract-table.ts';
import type { ContractLine, TopLevel } from './contract-line.ts';

const table = [...specified, ...decided, ...extensions];
const places = placesOf(rows);
const { document } = await theContract();

/** What a parameter of a path is called is nobody's business. */
const key = (method: string, path: string) => `${method.toUpperCase()} ${path.replace(/:\w+|\{\w+\}/g, ':')}`;

describe('the table, the rows and the document', () => {
  test('name the same endpoints with the same rights', () => {
    const said = table.map(({ method, path, access }) => `${key(method, path)} ${access}`).toSorted();
    expect(places.map(({ method, row }) => `${key(method, row.path)} ${row.access}`).toSorted()).toEqual(said);
    expect(
      Object.entries(document.paths)
        .flatMap(([path, methods]) =>
          Object.entries(methods).map(([method, { 'x-access': access }]) => `${key(method, path)} ${String(access)}`),
        )
        .toSorted(),
    ).toEqual(said);
  });

  test('name nothing twice', () => {
    const keys = table.map(({ method, path }) => key(method, path));
    expect(keys.length).toBe(new Set(keys).size);
  });

  test.each(table)('agree about $method $path', (line) => {
    const { responses } = operationOf(line);
    const successes = Object.keys(responses).filter((status) => status < '300');
    expect(successes).toEqual(line.status === 201 ? ['200', '201'] : [String(line.status)]);
    for (const status of successes) expect(shapeOf(responses[status])).toEqual(line.answers);
  });
});

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone({ ...document }));
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
});

test('every row says what it does', () => {
  expect(rows.filter(({ summary }) => !/^[A-Z].*\.$/.test(summary)).map(({ path }) => path)).toEqual([]);
});

describe('played over HTTP', async () => {
  const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
  const receiver = await startSmtpReceiver();
  afterAll(() => receiver.close());

  test.each(table)('$method $path', async (line) => {
    const place = places.find(({ method, row }) => key(method, row.path) === key(line.method, line.path));
    if (!place) throw new Error('There is no such row.');
    for (const dialect of ['standard', 'classic'] as const) {
      const { answer } = await playRow(app, { ...place, dialect, smtp: receiver.settings });
      expect(answer.status, answer.text.slice(0, 300)).toBe(
        dialect === 'classic' && line.status === 201 ? 200 : line.status,
      );
      const { kind } = line.answers;
      if (kind === 'csv') expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
      else if (kind !== 'json download') expect(topOf(answer.body)).toEqual(topIn(dialect, line.answers));
    }
  });
});

interface Operation {
  readonly responses: Readonly<Record<string, JsonSchema>>;
}

function operationOf({ method, path }: ContractLine): Operation {
  const found = Object.entries(document.paths).find(([one]) => key(method, one) === key(method, openApiPath(path)));
  const operation: unknown = found?.[1][method.toLowerCase()];
  if (typeof operation !== 'object' || operation === null || !('responses' in operation))
    throw new Error('The document has no such operation.');
  return { responses: Object.fromEntries(Object.entries(Object(operation.responses))) };
}

/** The top of a documented answer, in the words of the table. */
function shapeOf(response: JsonSchema | undefined): TopLevel {
  const content = Object.entries(Object(response?.['content']));
  if (content.some(([type]) => type === 'text/csv')) return { kind: 'csv' };
  const [, media] = content.find(([type]) => type === 'application/json') ?? [];
  const schema = dereferenced(Object(media).schema);
  if (Array.isArray(schema['type'])) return { kind: 'json download' };
  const choices: JsonSchema[] = [schema['oneOf'], schema['anyOf']].flat().flatMap((one) => (one ? [Object(one)] : []));
  if (choices.length === 2 && choices[0]?.['title'] === 'standard') return { kind: 'index' };
  if (choices.length > 0)
    return { kind: 'one of', choices: choices.map((choice) => topOfSchema(dereferenced(choice))) };
  return topOfSchema(schema);
}

function topOfSchema(schema: JsonSchema): TopLevel {
  if (schema['type'] === 'array') return { kind: 'array' };
  expect(schema['additionalProperties']).toBe(false);
  // Only where there is something to tell (decision D53).
  const names = Object.keys(Object(schema['properties'])).filter((name) => name !== 'ignored');
  expect(schema['required']).toEqual(names);
  return { kind: 'object', names: names.toSorted() };
}

function dereferenced(schema: JsonSchema): JsonSchema {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema['$ref']))?.[1];
  return name === undefined ? schema : Object(Object(Object(document['components']).schemas)[name]);
}

/** `array`, or the names of the object. */
function topOf(body: unknown): unknown {
  return Array.isArray(body) ? 'array' : Object.keys(Object(body)).toSorted();
}

function topIn(dialect: 'standard' | 'classic', answers: TopLevel): unknown {
  switch (answers.kind) {
    case 'object':
      return answers.names;
    case 'index':
      return dialect === 'classic' ? 'array' : ['data', 'links', 'meta'];
    case 'one of':
      // What is played is the first of them.
      return answers.choices[0] && topIn(dialect, answers.choices[0]);
    default:
      return 'array';
  }
}
