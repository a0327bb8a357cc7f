/** Which servers send, and how much of it: of the caller, and of the customers of a plan. Extensions of the specification. */
import { z } from 'zod';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { routesParameter } from '../sending-routes.ts';
import { actionShape, answersBody, uidShape } from '../shapes.ts';

const routesShape = z.array(z.strictObject({ uid: uidShape, weight: z.int() }));
const DETAILS =
  '`sending_servers`: `[{"uid": "...", "weight": 3}, ...]`; null or an empty text clears them, so that the usual choice applies.';

export const sendingRouteRows = [
  endpoint({
    method: 'GET',
    path: '/sending_routes',
    access: 'token',
    summary: 'Shows the servers over which all campaigns of the caller are sent, by weight.',
    answers: answersBody(z.strictObject({ sending_servers: routesShape })),
    operation: 'SendingRoutes',
    variables: () => ({}),
    present: ({ sendingRoutes }) => ok({ sending_servers: sendingRoutes.nodes.map(presentRoute) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/sending_routes',
    access: 'token',
    summary: 'Sets the servers over which all campaigns of the caller are sent.',
    details: DETAILS,
    answers: answersBody(actionShape({ sending_servers: routesShape })),
    operation: 'SetSendingRoutes',
    variables: (input) => ({ input: { servers: routesParameter(input, 'sending_servers') } }),
    fieldName,
    present: ({ setSendingRoutes: { servers } }) =>
      done('The sending servers were set', { sending_servers: servers.map(presentRoute) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/plans/:uid/sending_routes',
    access: 'admin',
    summary: 'Sets the servers over which customers of a plan send who have none of their own.',
    details: DETAILS,
    answers: answersBody(actionShape({ plan_uid: uidShape })),
    operation: 'SetPlanRoutes',
    variables: (input) => ({
      input: { planUid: input.param('uid'), servers: routesParameter(input, 'sending_servers') },
    }),
    fieldName,
    present: ({ setPlanRoutes: { uid } }) => done('The sending servers were set', { plan_uid: uid }),
  }),
];

function presentRoute({ uid, weight }: { readonly uid: string; readonly weight: number }) {
  return { uid, weight };
}

function fieldName(path: string): string | undefined {
  return path.startsWith('servers') ? path.replace('servers', 'sending_servers') : undefined;
}
