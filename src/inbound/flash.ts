/**
 * A sentence that is shown once on the page to which a browser is redirected. It is in a cookie that lives a minute, encrypted with the
 * installation's secret: nobody else can write one that is shown.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Installation } from '../domain/context.ts';
import { deriveKey, seal, unseal } from '../lib/crypto.ts';

const NAME = 'mailwright_flash';
const PURPOSE = 'flash';
const SECONDS = 60;
/** A cookie may have 4,096 bytes. */
export const FLASH_LENGTH_MAX = 500;

/** The header that keeps the sentence for the page at this path. */
export function flashCookie({ baseUrl, secret }: Installation, path: string, sentence: string): string {
  const value = seal(deriveKey(secret, PURPOSE), sentence.slice(0, FLASH_LENGTH_MAX), path).toString('base64url');
  return `${NAME}=${value}; ${attributes(baseUrl, path, SECONDS)}`;
}

/** The sentence for this page, which is then forgotten; undefined: none, or one that we did not write. */
export function takeFlash(
  { baseUrl, secret }: Installation,
  { req, res, path }: { readonly req: IncomingMessage; readonly res: ServerResponse; readonly path: string },
): string | undefined {
  const value = (req.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${NAME}=`))
    ?.slice(NAME.length + 1);
  if (value === undefined) return undefined;
  res.appendHeader('Set-Cookie', `${NAME}=; ${attributes(baseUrl, path, 0)}`);
  try {
    return unseal(deriveKey(secret, PURPOSE), Buffer.from(value, 'base64url'), path);
  } catch {
    return undefined;
  }
}

function attributes(baseUrl: string, path: string, seconds: number): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return `Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}
