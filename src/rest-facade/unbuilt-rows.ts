/**
 * Endpoints of the specification whose parts are not built: nobody is told more than the caller may know (decision D6). Without a
 * token the answer is 401, without the right 403, otherwise 404. They are in no document.
 */
import { z } from 'zod';
import { RestError } from './errors.ts';
import type { Access, Method, Row } from './row.ts';
import { answersBody } from './shapes.ts';

const PLACES: readonly (readonly [method: Method, path: `/${string}`, access: Access])[] = [
  ['GET', '/webhooks', 'admin'],
  ['POST', '/webhooks', 'admin'],
  ['GET', '/webhooks/:uid', 'admin'],
  ['PATCH', '/webhooks/:uid', 'admin'],
  ['DELETE', '/webhooks/:uid', 'admin'],
  ['GET', '/webhooks/:uid/deliveries', 'admin'],
  ['POST', '/webhooks/:uid/test', 'admin'],
];

export const unbuiltRows: readonly Row[] = PLACES.map(([method, path, access]) => ({
  method,
  path,
  access,
  summary: 'Is not built.',
  answers: answersBody(z.never()),
  operations: [],
  async run(call) {
    await call.identify();
    throw new RestError(404, { message: 'There is no such endpoint.' });
  },
}));
