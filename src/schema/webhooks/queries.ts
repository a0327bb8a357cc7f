/** Reading webhooks, their log, and the catalogue of events. */
import { z } from 'zod';
import { findOwnedList } from '../../domain/audience/find-owned-list.ts';
import { administers } from '../../domain/billing/billing-rights.ts';
import { findOwnedCampaign } from '../../domain/campaigns/find-owned-campaign.ts';
import { findOwnedTemplate } from '../../domain/content/templates/find-owned-template.ts';
import { findWebhook } from '../../domain/webhooks/find-webhook.ts';
import {
  kindOfEvent,
  WEBHOOK_EVENTS,
  webhookEventNames,
  type WebhookEvent as EventName,
} from '../../domain/webhooks/webhook-events.ts';
import { deliveryPage } from '../../domain/webhooks/webhook-log.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { COUNTED_MAX } from '../limits.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { pageArgs, pageWindow } from '../page.ts';
import { WebhookDeliveryPage, WebhookDeliveryState } from './webhook-delivery.ts';
import { reading, Webhook, WebhookEvent, WebhookKind } from './webhook.ts';

builder.queryField('webhook', (t) =>
  t.prismaField({
    type: Webhook,
    description: 'One webhook.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findWebhook(ctx, uid);
      return ctx.prisma.webhook.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

type Where = Prisma.WebhookWhereInput;

const index = nounIndex('Webhook', Webhook, {
  access: reading,
  count: (ctx, where: Where) => ctx.prisma.webhook.count({ where }),
  find: (ctx, query) => ctx.prisma.webhook.findMany(query),
});
const WebhookPage = index.definePage();

builder.queryField('webhooksPage', (t) =>
  t.field({
    type: WebhookPage,
    description:
      'The webhooks by numbered pages, the oldest first: those of the own customer, and for administrators those of the installation.',
    authScopes: reading,
    args: {
      kind: t.arg({ type: WebhookKind, description: 'Only those of this kind.' }),
      listUid: t.arg.string({ description: 'Only those of this list.' }),
      campaignUid: t.arg.string({ description: 'Only those of this campaign.' }),
      templateUid: t.arg.string({ description: 'Only those of this template.' }),
      ...pageArgs(),
    },
    resolve: async (_root, { page, perPage, ...filter }, ctx) => ({
      ...pageWindow({ page, perPage }),
      where: await asked(ctx, filter),
      order: 'asc' as const,
    }),
  }),
);

interface Filter {
  readonly kind?: string | null | undefined;
  readonly listUid?: string | null | undefined;
  readonly campaignUid?: string | null | undefined;
  readonly templateUid?: string | null | undefined;
}

async function asked(ctx: GraphqlContext, { kind, listUid, campaignUid, templateUid }: Filter): Promise<Where> {
  const own = { ...ownRows(ctx), kind: { not: 'lifecycle' } };
  return {
    OR: administers(ctx) ? [own, { kind: 'lifecycle' }] : [own],
    ...(kind ? { AND: [{ kind }] } : {}),
    ...(listUid ? { listId: (await findOwnedList(ctx, listUid)).id } : {}),
    ...(campaignUid ? { campaignId: (await findOwnedCampaign(ctx, campaignUid)).id } : {}),
    ...(templateUid ? { templateId: (await findOwnedTemplate(ctx, templateUid)).id } : {}),
  };
}

const WebhookEventDescription = builder.objectRef<EventName>('WebhookEventDescription').implement({
  description: 'An event that a webhook can report.',
  authScopes: reading,
  fields: (t) => ({
    event: t.field({ type: WebhookEvent, resolve: (name) => name }),
    name: t.string({
      description: 'As in the header `X-Service-Event`, such as `campaign.sent`.',
      resolve: (name) => name,
    }),
    kind: t.field({ type: WebhookKind, resolve: kindOfEvent }),
    description: t.string({ resolve: (name) => WEBHOOK_EVENTS[name].description }),
    schema: t.field({
      type: 'JsonObject',
      description: 'The JSON Schema of its payload.',
      resolve: (name) => z.toJSONSchema(WEBHOOK_EVENTS[name].shape),
    }),
    example: t.field({ type: 'JsonObject', resolve: (name) => ({ ...WEBHOOK_EVENTS[name].example }) }),
  }),
});

builder.queryField('webhookEvents', (t) =>
  t.field({
    type: [WebhookEventDescription],
    description: 'The catalogue of the events that webhooks report, with the payload of each.',
    authScopes: reading,
    resolve: () => [...webhookEventNames],
  }),
);

builder.queryField('webhookDeliveriesPage', (t) =>
  t.field({
    type: WebhookDeliveryPage,
    description: `The deliveries of a webhook by numbered pages, the newest first. \`total\` counts up to ${COUNTED_MAX}. They are kept for the present month and the one before.`,
    authScopes: reading,
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
