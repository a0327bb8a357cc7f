/** Reading suppression lists. */
import { suppressionFilterInput, suppressionPage } from '../../domain/audience/suppression-list.ts';
import { builder } from '../builder.ts';
import { definePage, pageArgs, pageWindow } from '../page.ts';
import { EVERYWHERE, Suppression } from './suppression.ts';

const SuppressionPage = definePage('SuppressionPage', Suppression, 'subscribers:read');

builder.queryField('suppressionsPage', (t) =>
  t.field({
    type: SuppressionPage,
    description: 'The addresses that the customer suppresses, by numbered pages, in their order.',
    authScopes: { scope: 'subscribers:read' },
    args: {
      email: t.arg.string({
        description: 'The one address, if it is there.',
        check: suppressionFilterInput.shape.email,
      }),
      everywhere: t.arg.boolean({ description: EVERYWHERE }),
      ...pageArgs(),
    },
    resolve: async (_root, args, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      return { ...(await suppressionPage(ctx, args, { offset, limit: perPage })), page, perPage };
    },
  }),
);
