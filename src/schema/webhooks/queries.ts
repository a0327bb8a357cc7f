/** Reading webhooks and their log: administrators only. */
import { findWebhook } from '../../domain/webhooks/find-webhook.ts';
import { deliveryPage } from '../../domain/webhooks/webhook-log.ts';
import { builder } from '../builder.ts';
import { COUNTED_MAX } from '../limits.ts';
import { nounIndex } from '../noun-index.ts';
import { pageArgs, pageWindow } from '../page.ts';
import { WebhookDeliveryPage, WebhookDeliveryState } from './webhook-delivery.ts';
import { forAdministrators, Webhook } from './webhook.ts';

builder.queryField('webhook', (t) =>
  t.prismaField({
    type: Webhook,
    description: 'One webhook.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findWebhook(ctx, uid);
      return ctx.prisma.webhook.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const LIFECYCLE = { kind: 'lifecycle' };
const index = nounIndex('Webhook', Webhook, {
  access: forAdministrators,
  count: (ctx, where: typeof LIFECYCLE) => ctx.prisma.webhook.count({ where }),
  find: (ctx, query) => ctx.prisma.webhook.findMany(query),
});
index.pages('webhooksPage', {
  description: 'The webhooks by numbered pages, the oldest first.',
  order: 'asc',
  whereOf: () => LIFECYCLE,
});

builder.queryField('webhookDeliveriesPage', (t) =>
  t.field({
    type: WebhookDeliveryPage,
    description: `The deliveries of a webhook by numbered pages, the newest first. \`total\` counts up to ${COUNTED_MAX}. They are kept for the present month and the one before.`,
    authScopes: forAdministrators,
    args: {
      webhookUid: t.arg.string({ required: true }),
      state: t.arg({ type: WebhookDeliveryState, description: 'Only those in this state.' }),
      from: t.arg({ type: 'DateTime', description: 'Only of events from this time on.' }),
      to: t.arg({ type: 'DateTime', description: 'Only of events before this time.' }),
      ...pageArgs(),
    },
    resolve: async (_root, args, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const window = { offset, limit: perPage, countedMax: COUNTED_MAX };
      return { ...(await deliveryPage(ctx, args, window)), page, perPage };
    },
  }),
);
