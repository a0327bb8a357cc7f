/** A choice of servers by weight, as input and as output. */
import { parseRoutes, sendingRoutes, type SendingRoute } from '../../domain/sending/routing/routes.ts';
import { builder } from '../builder.ts';

export const SendingRouteType = builder.objectRef<SendingRoute>('SendingRoute').implement({
  description: 'A sending server and its weight.',
  authScopes: { authenticated: true },
  fields: (t) => ({ uid: t.exposeString('uid'), weight: t.exposeInt('weight') }),
});

export const SendingRouteInput = builder.inputType('SendingRouteInput', {
  checks: sendingRoutes.element.shape,
  fields: (t) => ({
    uid: t.string({ required: true, description: 'The uid of the sending server.' }),
    weight: t.int({
      description:
        'Its share of the batches: of two servers with the weights 3 and 1, the first gets three of four batches. 1 by default.',
    }),
  }),
});

/** A stored choice as it is shown. */
export const shownRoutes = (stored: unknown) => [...parseRoutes(stored)];
