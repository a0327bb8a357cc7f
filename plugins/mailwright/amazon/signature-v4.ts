/** Signature Version 4 of AWS: a request that is signed with an access key, in headers. */
import { createHash, createHmac } from 'node:crypto';
import type { VendorRequest } from '../../../src/plugin-api/index.ts';

export interface AccessKey {
  readonly id: string;
  readonly secret: string;
  readonly region: string;
  /** `ses`. */
  readonly service: string;
}

interface ToSign extends VendorRequest {
  /** As the `Host` header names it: with a port where it is not the usual one. */
  readonly host: string;
  /** AWS takes it for five minutes. */
  readonly at: Date;
}

/**
 * The request with the headers that prove who sent it. The path must be encoded; for the signature it is so once more. The query must be of letters,
 * digits and `-_.~`, its parameters sorted.
 */
export function signed({ host, at, ...request }: ToSign, { id, secret, region, service }: AccessKey): VendorRequest {
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const headers = { ...request.headers, 'X-Amz-Date': time };
  const lines = Object.entries({ ...headers, Host: host })
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = lines.map(([name]) => name).join(';');
  const [path = '', query = ''] = request.path.split('?', 2);
  const canonical = [
    ...[request.method, path.replaceAll('%', '%25'), query],
    ...lines.map((line) => line.join(':')),
    ...['', names, sha256(request.body ?? '')],
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce((previous: string | Buffer, part) => hmac(previous, part), `AWS4${secret}`);
  const signature = hmac(key, toSign).toString('hex');
  const credential = `${id}/${scope.join('/')}`;
  return {
    ...request,
    headers: {
      ...headers,
      Authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
    },
  };
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
