/** Makes the request of a plan in a world, byte for byte as a careless client might, and reads what comes back. */
import { Agent, request as openRequest } from 'node:http';
import type { RowParameter } from '../../src/rest-facade/row-parameters.ts';
import type { RowPlace } from '../support/play-row.ts';
import type { RestApp } from '../support/open-rest-app.ts';
import { bodyOf } from '../support/request-row.ts';
import { pathIn, rightValue, type World } from '../support/rest-world.ts';
import type { Planned, RequestPlan } from './row-requests.ts';

export interface FuzzAnswer {
  readonly method: string;
  /** Below `/api/v1`, with its query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly ms: number;
}

export interface FuzzScene {
  readonly app: RestApp;
  readonly world: World;
  readonly other: World;
  readonly place: RowPlace;
  readonly parameters: readonly RowParameter[];
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });
/** Whoever waits longer than this has met a hang. */
const ANSWER_MS_MAX = 20_000;
const BOUNDARY = 'fuzz-boundary';

type Pairs = readonly (readonly [name: string, value: unknown])[];

/** Sends it and waits for the whole answer. Rejects when there is none. */
export async function sendPlan(scene: FuzzScene, plan: RequestPlan): Promise<FuzzAnswer> {
  const { method, path, headers, body } = wireOf(scene, plan);
  const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
  const started = performance.now();
  const url = new URL(scene.app.baseUrl);
  const outgoing = openRequest({
    ...{ agent, host: url.hostname, port: url.port, method, path: `/api/v1${path}`, headers },
    timeout: ANSWER_MS_MAX,
  });
  outgoing.on('response', (incoming) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', reject);
    incoming.on('end', () =>
      resolve({
        ...{ method, path, status: incoming.statusCode ?? 0, contentType: incoming.headers['content-type'] ?? '' },
        text: Buffer.concat(chunks).toString(),
        ms: performance.now() - started,
      }),
    );
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer within ${ANSWER_MS_MAX} ms.`)));
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

interface Wire {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function wireOf(scene: FuzzScene, plan: RequestPlan): Wire {
  const { app, place } = scene;
  const right = place.row.access === 'admin' ? app.adminToken : scene.world.token;
  const own: Pairs = [['api_token', right]];
  const pairs: Pairs = [...valuesOf(scene, plan), ...(plan.token === 'in the body' ? own : [])];
  const inQuery = plan.carrier === 'query' ? pairs.length : plan.carrier === 'split' ? Math.floor(pairs.length / 2) : 0;
  const query = [...pairs.slice(0, inQuery), ...(plan.token === 'in the query' ? own : [])];
  const carried = bodyIn(plan, pairs.slice(inQuery), Boolean(place.row.takesFile));
  const bearers: Readonly<Record<string, string>> = { right, rubbish: 'rubbish', 'other tenant': scene.other.token };
  const bearer = bearers[plan.token];
  return {
    method: plan.head && place.method === 'GET' ? 'HEAD' : place.method,
    path: `${pathOf(scene, plan.slots)}?${formOf(query)}`.slice(0, 60_000),
    headers: {
      ...Object.fromEntries(plan.headers),
      ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      ...(carried.text === ''
        ? {}
        : { 'Content-Type': carried.type, 'Content-Length': String(Buffer.byteLength(carried.text)) }),
    },
    body: carried.text,
  };
}

function valuesOf(scene: FuzzScene, plan: RequestPlan): Pairs {
  return plan.parameters.flatMap(([name, planned]) => {
    const parameter = scene.parameters.find(({ names }) => names.includes(name));
    const value =
      'value' in planned ? planned.value : parameter && rightValue(scene.place.row, parameter, worldOf(scene, planned));
    return value === undefined ? [] : [[name, value] as const];
  });
}

function worldOf(scene: FuzzScene, planned: Planned): World {
  return 'from' in planned && planned.from === 'other tenant' ? scene.other : scene.world;
}

/** Generated slots are encoded, and now and then badly. */
function pathOf(scene: FuzzScene, slots: readonly Planned[]): string {
  const parts = scene.place.row.path.split('/');
  const own = pathIn(scene.world, scene.place.row.path).split('/');
  const foreign = pathIn(scene.other, scene.place.row.path).split('/');
  let no = 0;
  return parts
    .map((part, index) => {
      if (!part.startsWith(':')) return part;
      const planned = slots[no++] ?? { from: 'right' };
      if ('value' in planned) return encoded(String(planned.value)).slice(0, 2_000);
      return (planned.from === 'right' ? own : foreign)[index] ?? '';
    })
    .join('/');
}

function encoded(text: string): string {
  return text === '%' ? '%ZZ' : encodeURIComponent(text.toWellFormed()) || '-';
}

function bodyIn(plan: RequestPlan, pairs: Pairs, takesFile: boolean): { readonly text: string; readonly type: string } {
  const carrier = takesFile ? 'multipart' : plan.carrier;
  const whole = carrier === 'multipart' ? multipart(pairs, takesFile) : carrier === 'form' ? form(pairs) : json(pairs);
  if (pairs.length === 0 && !takesFile) return { text: '', type: whole.type };
  if (plan.body === 'cut off') return { ...whole, text: whole.text.slice(0, Math.floor(whole.text.length / 2)) };
  if (plan.body === 'mislabelled') return { ...whole, type: carrier === 'json' ? 'text/plain' : 'application/json' };
  return whole;
}

function json(pairs: Pairs) {
  return { type: 'application/json', text: JSON.stringify(bodyOf(pairs.filter(([name]) => name !== '__proto__'))) };
}

function form(pairs: Pairs) {
  return { type: 'application/x-www-form-urlencoded', text: formOf(pairs) };
}

function formOf(pairs: Pairs): string {
  return new URLSearchParams(pairs.flatMap(([name, value]) => flat(name, value))).toString();
}

function multipart(pairs: Pairs, takesFile: boolean) {
  const part = (head: string, value: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const quoted = (name: string) => name.replaceAll(/["\r\n]/g, '_');
  const fields = pairs
    .flatMap(([name, value]) => flat(name, value))
    .map(([name, value]) => part(`name="${quoted(name)}"`, value));
  const file = takesFile
    ? [part('name="file"; filename="people.csv"', 'EMAIL,FIRST_NAME\r\nnew@person.example,New')]
    : [];
  return {
    type: `multipart/form-data; boundary=${BOUNDARY}`,
    text: `${[...fields, ...file].join('')}--${BOUNDARY}--\r\n`,
  };
}

function flat(name: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((item) => flat(`${name}[]`, item));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => flat(`${name}[${key}]`, inner));
  return [[name, typeof value === 'string' ? value : String(value)]];
}
