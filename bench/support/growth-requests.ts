/** Requests that anybody may send to the started product: their bodies, queries, cookies and headers, and the short way of links. */
import { connect } from 'node:net';
import http from 'node:http';
import { BODY_BYTES_MAX, STRANGERS_BODY_BYTES_MAX } from '../../src/lib/bounded-body.ts';
import { DOCUMENT_CHARACTERS_MAX } from '../../src/schema/limits.ts';
import { BENCH_TOKEN, type Product } from './product.ts';
import { nearMiss, nested, repeated, whole, type GrowthCase } from './growth.ts';

/** Node takes 80 KiB of a head; a request line or a header of ours is within 64. */
const HEAD_LENGTH_MAX = 65_536;
/** A documented limit: 5 MB with a token. */
const AT_A_LIMIT_MS_MAX = 200;
/** Processor time of another process is counted in steps of 10 ms. */
const MEASURED_MS_MIN = 50;
/** An answer takes at most so long; a product that hangs fails the bench. */
const ANSWER_MS_MAX = 60_000;

type Means = Pick<GrowthCase, 'cpuMs' | 'measuredMsMin'> & {
  /** What sends a request and waits for its answer, and what else asks for /healthz meanwhile. */
  over(request: (text: string) => string): Pick<GrowthCase, 'parse' | 'heldMs'>;
};

/** All cases against this product. */
export function requestCases(product: Product): readonly GrowthCase[] {
  const means = meansOf(product);
  return [...bodyCases(means), ...headCases(means)];
}

const formShapes: GrowthCase['shapes'] = {
  pairs: repeated('a=1&'),
  'names of their own': (length) =>
    Array.from({ length: length / 8 }, (_, at) => `${at.toString(36).padStart(5, 'a')}=1&`).join(''),
  'five thousand pairs': (length) => `a=${'x'.repeat(Math.max(0, length / 4_000))}&`.repeat(4_000).slice(0, length),
  percents: nearMiss('a=', '%41', ''),
  'half a percent': nearMiss('a=', '%', ''),
  brackets: nearMiss('a', '[b]', '=1'),
  'one long value': nearMiss('name=', 'x', ''),
  pluses: nearMiss('a=', '+', ''),
};
const jsonShapes: GrowthCase['shapes'] = {
  keys: (length) =>
    `{${Array.from({ length: length / 10 }, (_, at) => `"${at.toString(36).padStart(5, 'a')}":1`).join(',')}}`,
  lists: nested('[', ']'),
  'lists in a list': (length) => `{"a":[${whole('[],')(length)}[]]}`,
  objects: nested('{"a":', '}', '1'),
  'one long value': nearMiss('{"name":"', 'x', '"}'),
  escapes: (length) => `{"name":"${whole(String.raw`\u0041`)(length)}"}`,
  numbers: nearMiss('{"a":', '1', '}'),
  blanks: nearMiss('{', ' ', '}'),
  'no end': repeated('{"a":"'),
};
const PART = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n';
const multipartShapes: GrowthCase['shapes'] = {
  fields: (length) => `${whole(PART)(length)}--b--\r\n`,
  'one long field': nearMiss('--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n', 'x', '\r\n--b--\r\n'),
  'near boundaries': nearMiss('--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n', '\r\n--', '\r\n--b--\r\n'),
  'headers of a part': nearMiss('--b\r\n', 'X: y\r\n', '\r\n1\r\n--b--\r\n'),
  'a long name': nearMiss('--b\r\nContent-Disposition: form-data; name="', 'x', '"\r\n\r\n1\r\n--b--\r\n'),
  files: (length) => `${whole(PART.replace('"a"', '"a"; filename="f"'))(length)}--b--\r\n`,
};

function bodyCases(means: Means): GrowthCase[] {
  const kinds = [
    { name: 'form', type: 'application/x-www-form-urlencoded', shapes: formShapes },
    { name: 'JSON', type: 'application/json', shapes: jsonShapes },
    { name: 'multipart', type: 'multipart/form-data; boundary=b', shapes: multipartShapes },
  ];
  const post = (type: string, token?: string) =>
    means.over((body) => requestOf({ path: '/api/v1/lists', type, body, token }));
  return [
    ...kinds.map(({ name, type, shapes }) => ({
      ...{ name: `body: ${name}, no token`, lengthMax: STRANGERS_BODY_BYTES_MAX - 1_024, shapes },
      ...means,
      ...post(type),
    })),
    ...kinds.map(({ name, type, shapes }) => ({
      ...{ name: `body: ${name}, token`, lengthMax: BODY_BYTES_MAX - 1_024, boundMs: AT_A_LIMIT_MS_MAX, shapes },
      ...means,
      ...post(type, BENCH_TOKEN),
    })),
    {
      ...{ name: 'body: GraphQL, no token', lengthMax: DOCUMENT_CHARACTERS_MAX / 2 },
      ...means,
      ...means.over((query) =>
        requestOf({ path: '/graphql', type: 'application/json', body: JSON.stringify({ query }) }),
      ),
      shapes: {
        fields: nearMiss('{', 'a ', '}'),
        braces: repeated('{'),
        fragments: whole('fragment a on B{c} '),
        aliases: nearMiss('{', 'a:__typename ', '}'),
      },
    },
  ];
}

function headCases(means: Means): GrowthCase[] {
  const get = (path: string, headers: string) =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;
  const ways = ['/api/v1/lists', '/c/x', '/o/x.gif'];
  return [
    {
      ...{ name: 'head: query', lengthMax: HEAD_LENGTH_MAX, shapes: formShapes },
      ...means,
      ...means.over((query) => get(`/api/v1/lists?${query}`, '')),
    },
    ...ways.flatMap((path) => [
      {
        ...{ name: `head: cookies, ${path}`, lengthMax: HEAD_LENGTH_MAX },
        ...means,
        ...means.over((cookies) => get(path, `Cookie: ${cookies}\r\n`)),
        shapes: {
          pairs: repeated('a=b; '),
          semicolons: repeated(';'),
          equals: repeated('='),
          blanks: nearMiss('', ' ', 'x'),
        },
      },
      {
        ...{ name: `head: headers, ${path}`, lengthMax: HEAD_LENGTH_MAX },
        ...means,
        ...means.over((headers) => get(path, headers)),
        shapes: {
          lines: whole('X: y\r\n'),
          agents: (length: number) => `User-Agent: ${repeated('Mozilla/5.0 (')(length)}\r\n`,
          versions: (length: number) => `User-Agent: ${repeated('Version/1.')(length)}\r\n`,
          addresses: (length: number) => `X-Forwarded-For: ${repeated('1.2.3.4, ')(length)}\r\n`,
          types: (length: number) => `Accept: ${repeated('text/html;q=0.1,')(length)}\r\n`,
          token: (length: number) => `Authorization: Bearer ${repeated('a')(length)}\r\n`,
          blanks: (length: number) => `Authorization: Bearer ${repeated(' ')(length)}x\r\n`,
        },
      },
    ]),
    {
      ...{ name: 'head: address of a link', lengthMax: HEAD_LENGTH_MAX },
      ...means,
      ...means.over((path) => get(`/c/${path}`, '')),
      shapes: { letters: repeated('A'), percents: repeated('%41'), slashes: repeated('/'), steps: repeated('../') },
    },
    {
      // Three thousand requests on one connection.
      ...{ name: 'head: requests on one connection', lengthMax: 2 * HEAD_LENGTH_MAX },
      ...means,
      ...means.over((requests) => `${requests}${get('/o/x.gif', '')}`),
      shapes: {
        pixels: whole('GET /o/x.gif HTTP/1.1\r\nHost: localhost\r\n\r\n'),
        links: whole('GET /c/x HTTP/1.1\r\nHost: localhost\r\n\r\n'),
        'unknown addresses': whole('GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n'),
      },
    },
  ];
}

function requestOf({
  path,
  type,
  body,
  token,
}: {
  path: string;
  type: string;
  body: string;
  token?: string | undefined;
}): string {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  const length = Buffer.byteLength(body, 'latin1');
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${authorization}Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

function meansOf({ url, cpuSeconds }: Product): Means {
  const { hostname, port } = new URL(url);
  const send = async (request: Buffer): Promise<void> => {
    const socket = connect(Number(port), hostname);
    // A refusal may come, and the connection end, before all is sent.
    socket.on('error', () => undefined);
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy());
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.resume().write(request);
    await closed;
  };
  return {
    cpuMs: () => cpuSeconds() * 1_000,
    measuredMsMin: MEASURED_MS_MIN,
    over: (request) => ({
      parse: (text) => send(Buffer.from(request(text), 'latin1')),
      heldMs: (text) => longestWait(url, () => send(Buffer.from(request(text), 'latin1'))),
    }),
  };
}

/** The longest wait for /healthz while `work` is done: asked again as soon as it is answered. */
async function longestWait(url: string, work: () => Promise<void>): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  let isDone = false;
  let longest = 0;
  await ask(url, agent);
  const asking = (async () => {
    while (!isDone) longest = Math.max(longest, await ask(url, agent));
  })();
  await work().finally(() => (isDone = true));
  await asking;
  agent.destroy();
  return longest;
}

/** A connection that is kept may end between two requests: then another one is opened. */
async function ask(url: string, agent: http.Agent, isSecondTry = false): Promise<number> {
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const request = http.get(`${url}/healthz`, { agent }, (answer) => answer.resume().on('end', resolve));
  request.on('error', reject);
  try {
    await promise;
  } catch (error) {
    if (isSecondTry) throw error;
    await ask(url, agent, true);
  }
  return performance.now() - startedAt;
}
