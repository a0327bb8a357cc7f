/** Requests as a browser makes them: with Cookie, Origin and Sec-Fetch headers, which fetch does not let a test set. */
import { request } from 'node:http';

export interface BrowserRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface BrowserAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Asks; redirects are not followed. */
export function browse(
  url: string,
  { method = 'GET', headers = {}, body }: BrowserRequest = {},
): Promise<BrowserAnswer> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers: { 'user-agent': USER_AGENT, ...headers }, agent: false }, (res) => {
      const pieces: Buffer[] = [];
      res.on('data', (piece: Buffer) => pieces.push(piece));
      res.on('error', reject);
      res.on('end', () =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(pieces).toString() }),
      );
    });
    req.on('error', reject);
    req.end(body);
  });
}

/** The `name=value` of the first cookie that an answer sets. */
export function cookieOf({ headers }: BrowserAnswer): string {
  return headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '';
}
