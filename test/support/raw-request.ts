/** An HTTP request byte by byte: for clients that send what no library would. */
import { once } from 'node:events';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly head: string;
}

export interface RawRequest {
  /** The request line without the version: `GET /api/v1/lists`. */
  readonly line: string;
  /** Written as they are; Host and Connection are added. */
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** Sends it and reads to the end. A body brings its Content-Length along, unless a header does. */
export async function rawRequest(baseUrl: string, { line, headers = [], body = '' }: RawRequest): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(baseUrl);
  const hasLength = headers.some((header) => /^(content-length|transfer-encoding):/i.test(header));
  const length = body === '' || hasLength ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${line} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers, ...length];
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const [answerHead = '', ...rest] = text.split('\r\n\r\n');
  const answered = rest.join('\r\n\r\n');
  const isJson = /^content-type: application\/json/im.test(answerHead) && answered !== '';
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(answerHead)?.[1]),
    head: answerHead,
    body: isJson ? JSON.parse(answered) : answered,
  };
}
