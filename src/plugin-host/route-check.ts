/** What an entry of the hook `route` must be. */
import { z } from 'zod';
import type { Route } from '../plugin-api/index.ts';
import { checkBy, EntryError, functionShape, type EntryCheck } from './entry-check.ts';

const PATH = /^\/$|^(\/[A-Za-z0-9][A-Za-z0-9._-]*|\/:[a-z][A-Za-z0-9_]*)+$/;
const PATH_LENGTH_MAX = 200;
/** Files of the plugin, and its pages. */
const OWN = /^\/(files|pages)(\/|$)/;

const routeShape = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], { error: 'must be GET, POST, PUT, PATCH or DELETE' }),
  path: z
    .string()
    .max(PATH_LENGTH_MAX, `may have at most ${PATH_LENGTH_MAX} characters`)
    .regex(PATH, 'must be / or a path of letters, digits, ".", "_" and "-", with parts such as :uid')
    .refine((path) => !OWN.test(path), '/files and /pages are served by Mailwright'),
  auth: z.enum(['session', 'admin', 'public'], { error: 'must be "session", "admin" or "public"' }).default('session'),
  handle: functionShape<Route['handle']>(),
});

export type CheckedRoute = z.output<typeof routeShape>;

/** Two routes of a plugin must not have the same method and path. */
export const checkRoute: EntryCheck = checkBy(routeShape, (route, { others = [] }) => {
  if (others.some((other) => isSameAddress(other, route)))
    throw new EntryError(`It has two routes ${route.method} ${route.path}.`);
  return route;
});

function isSameAddress(other: unknown, { method, path }: CheckedRoute): boolean {
  if (typeof other !== 'object' || other === null || !('method' in other) || !('path' in other)) return false;
  return other.method === method && withoutNames(String(other.path)) === withoutNames(path);
}

function withoutNames(path: string): string {
  return path.replace(/:\w+/g, ':');
}
