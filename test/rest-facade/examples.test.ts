/**
 * The reference shows one real exchange for every row: this test plays them, and finds the ones in the repository to be
 * of the same make. `npm run examples` writes them anew (RECORD_EXAMPLES=1), without uids, tokens and times of a run.
 */
import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { EXAMPLES_FILE, readExamples, type Example } from '../../src/rest-facade/examples.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { theContract } from '../support/contract.ts';
import { placesOf, playRow } from '../support/play-row.ts';
import { startRestApp } from '../support/rest-app.ts';
import { bodyOf } from '../support/request-row.ts';
import { scrubber } from '../support/scrub.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';

const isRecording = process.env['RECORD_EXAMPLES'] === '1';
/** Of a download the beginning tells enough. */
const DOWNLOAD_LENGTH_MAX = 400;
/** Of a list too. */
const LIST_LENGTH_MAX = 3;

const receiver = await startSmtpReceiver();
afterAll(() => receiver.close());
const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1', SPF_TERMS: 'include:spf.example.com' });
const kept = readExamples();
const recorded: Record<string, Example> = {};
const places = placesOf(rows).map((place) => ({ ...place, name: `${place.method} ${place.row.path}` }));

describe.each(places)('$name', (place) => {
  test('is shown as it is', async () => {
    const { values, answer } = await playRow(app, { ...place, dialect: 'standard', smtp: receiver.settings });
    expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(300);
    const scrub = scrubber(app.baseUrl);
    const example = {
      ...(values.length > 0 ? { parameters: Object(scrub(bodyOf(values))) } : {}),
      status: answer.status,
      answer: scrub(shortened(answer.body ?? answer.text.slice(0, DOWNLOAD_LENGTH_MAX))),
    };
    recorded[place.name] = example;
    if (isRecording) return;
    const hint = 'The example is of another make: run `npm run examples`, then `npm run openapi:print`.';
    expect(differences(kept[place.name], example), hint).toEqual([]);
  });
});

test('an example is the same at each recording', () => {
  const runs = [
    {
      ...{ link: '65f0c0de00004.tpp9c0.u27WUFdP59sFvSz0EIBeqw', port: 24355, duration_ms: 129 },
      ...{ click: '_________________________-AAAAAAAAAAAAAAAAA.WAcuOztKaGjYKbdl', key: `${'Ab0'.repeat(14)}A=` },
    },
    {
      ...{ link: '76f0c0de00009.tpp9d7.Q03JSZHQzkiTSX5KSGDiA-', port: 26056, duration_ms: 133 },
      ...{ click: '-------------------------_BBBBBBBBBBBBBBBBB.kre7Xb-IZc9VuwC-', key: `${'A+/'.repeat(14)}B=` },
    },
  ].map(({ link, click, key, port, duration_ms }) => {
    const baseUrl = `http://127.0.0.1:${port}`;
    const checkout_url = `${baseUrl}/checkout/offline/${link}`;
    const html = `<a href="${baseUrl}/c/${click}AgBodHRwczovL3Nob3AuZXhhbXBsZS8">`;
    const uri = `otpauth://totp/X(127.0.0.1%3A${port})`;
    const signed = { secret: `whsec_${key}`, signature: `v1,${key}`, timestamp: `17${port}000` };
    return scrubber(baseUrl)({ checkout_url, html, uri, duration_ms, ...signed });
  });
  expect(runs[0]).toEqual(runs[1]);
});

test('no example is left of a row that is gone', () => {
  expect(Object.keys(kept).filter((name) => !places.some((place) => place.name === name))).toEqual([]);
});

test('the examples keep the contract, and no secret', async () => {
  const { faultOf } = await theContract();
  for (const [name, { status, answer }] of Object.entries(kept)) {
    const [method = '', path = ''] = name.split(' ');
    const isJson = typeof answer === 'object';
    const contentType = isJson ? 'application/json' : 'text/csv';
    expect(faultOf({ method, path, status, contentType, body: answer }), name).toBeUndefined();
    expect(JSON.stringify(answer), name).not.toMatch(/[A-Za-z0-9]{60}|\$argon2|127\.0\.0\.1:/);
  }
});

afterAll(() => {
  if (!isRecording) return;
  const sorted = Object.fromEntries(places.flatMap(({ name }) => (recorded[name] ? [[name, recorded[name]]] : [])));
  writeFileSync(EXAMPLES_FILE, `${JSON.stringify(sorted, null, 2)}\n`);
});

function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, LIST_LENGTH_MAX).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner)]));
}

/** Where two values are of another make: names that only one has, and kinds. Nothing is said of what is null or empty. */
function differences(one: unknown, other: unknown, path = ''): string[] {
  if (one === null || other === null) return [];
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === 0 || other.length === 0 ? [] : differences(one[0], other[0], `${path}[0]`);
  if (!isObject(one) || !isObject(other)) return typeof one === typeof other ? [] : [path];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return names.flatMap((name) => {
    const inner = `${path}.${name}`;
    return name in one && name in other ? differences(one[name], other[name], inner) : [inner];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
