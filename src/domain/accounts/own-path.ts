/** Where a person goes after logging in: a path of our own pages, and nothing that a browser takes for another site. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { isOwnPath } from '../../lib/safe-href.ts';

/** Longer addresses are cut off by some proxies. */
const PATH_LENGTH_MAX = 2_000;

/** What `parseNext` takes. */
export const nextInput = z.string().max(PATH_LENGTH_MAX);

/** The path with its query, as given; undefined when it is none of ours. */
export function ownPath(text: string, baseUrl: string): string | undefined {
  if (!isOwnPath(text)) return undefined;
  const base = new URL(baseUrl);
  return URL.canParse(text, base) && new URL(text, base).origin === base.origin ? text : undefined;
}

/** The same for what a caller gives; without one it is `/`. Throws ValidationError of `next`. */
export function parseNext(next: string | null | undefined, baseUrl: string): string {
  const path = ownPath(next ?? '/', baseUrl);
  if (path === undefined)
    throw new ValidationError({ next: ['The next must be a path of this installation, such as `/inbox`.'] });
  return path;
}
