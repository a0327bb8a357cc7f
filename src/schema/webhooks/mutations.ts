/** Setting up webhooks, testing them, sending deliveries again. */
import {
  createWebhook,
  deleteWebhook,
  previousSecretHoursInput,
  rotateWebhookSecret,
  updateWebhook,
  type NewSecret,
} from '../../domain/webhooks/save-webhook.ts';
import { testWebhook } from '../../domain/webhooks/test-webhook.ts';
import type { Resent } from '../../domain/webhooks/delivery-store.ts';
import { lastUidInput, resendDelivery, resendRange } from '../../domain/webhooks/webhook-log.ts';
import { createWebhookInput, updateWebhookInput } from '../../domain/webhooks/webhook.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { ActiveStatus } from '../enums.ts';
import { WebhookDelivery, WebhookDeliveryState } from './webhook-delivery.ts';
import { reading, Webhook, WebhookEvent, WebhookMethod, writing } from './webhook.ts';

const TEMPLATE =
  'Liquid over the payload, such as `{{ customer_id }}`; absent or null: the body is the payload as JSON.';
const HEADERS = 'Further headers of the requests, by name.';

const MACHINES = 'Opens and clicks by programs count, too. False by default.';

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

const schedule = (input: InputFields) => ({
  retryTimes: input.int({ description: 'By default 2 for the kind `lifecycle`, 11 for others.' }),
  retryAfterSeconds: input.int({ description: 'By default 900 for the kind `lifecycle`, 60 for others.' }),
  retrySecondsMax: input.int(),
  status: input.field({ type: ActiveStatus }),
});

const WebhookSecret = builder.objectRef<NewSecret>('WebhookSecret').implement({
  description: 'A webhook with its secret, which is answered only now.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.string({ resolve: ({ webhook }) => webhook.uid }),
    secret: t.exposeString('secret', { description: 'The key of the signatures. Store it at the receiver.' }),
    webhook: t.prismaField({
      type: Webhook,
      resolve: (query, { webhook }, _args, ctx) => found(ctx, query, webhook),
    }),
  }),
});

builder.mutationField('createWebhook', (t) =>
  t.fieldWithInput({
    type: WebhookSecret,
    description:
      'Makes a webhook, which reports what happens from now on. Events of the kind `lifecycle` need an administrator; of other kinds a customer may have 100.',
    authScopes: writing,
    typeOptions: { checks: createWebhookInput.shape },
    input: {
      name: t.input.string({ required: true }),
      event: t.input.field({ type: WebhookEvent, required: true }),
      url: t.input.string({
        required: true,
        description: 'A public http or https address on port 80 or 443; others need `OUTBOUND_ALLOW_HOSTS`.',
      }),
      method: t.input.field({ type: WebhookMethod }),
      headers: t.input.field({ type: 'JsonObject', description: HEADERS }),
      bodyTemplate: t.input.string({ description: TEMPLATE }),
      secret: t.input.string({ description: 'The key of the signatures. Absent: one is made.' }),
      listUid: t.input.string({ description: 'Only of this list. For every kind but `lifecycle`.' }),
      campaignUid: t.input.string({ description: 'Only of this campaign. For the kinds `tracking` and `campaign`.' }),
      templateUid: t.input.string({
        description:
          'Only of automations’ and transactional mails by this template. For the kind `tracking`, without a campaign.',
      }),
      withMachines: t.input.boolean({ description: MACHINES }),
      ...schedule(t.input),
    },
    resolve: (_root, { input: { headers, ...input } }, ctx) =>
      createWebhook(ctx, { ...input, headers: textsOf(headers) }),
  }),
);

builder.mutationField('updateWebhook', (t) =>
  t.prismaFieldWithInput({
    type: Webhook,
    description:
      'Changes the values that are given. `active` ends a pause; what was kept is not sent by itself (`resendWebhookDeliveries`).',
    authScopes: writing,
    typeOptions: { checks: updateWebhookInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      event: t.input.field({ type: WebhookEvent, description: 'One of the same kind.' }),
      url: t.input.string(),
      method: t.input.field({ type: WebhookMethod }),
      headers: t.input.field({
        type: 'JsonObject',
        description: `${HEADERS} They replace those before; the value \`(hidden)\` keeps the one that a header has.`,
      }),
      bodyTemplate: t.input.string({ description: TEMPLATE }),
      withMachines: t.input.boolean({ description: MACHINES }),
      ...schedule(t.input),
    },
    resolve: async (query, _root, { input: { name, event, url, headers, ...input } }, ctx) => {
      const named = { name: name ?? undefined, event: event ?? undefined, url: url ?? undefined };
      return found(ctx, query, await updateWebhook(ctx, { ...input, ...named, headers: textsOf(headers) }));
    },
  }),
);

const DeletedWebhook = builder
  .objectRef<{ uid: string }>('DeletedWebhook')
  .implement({ authScopes: reading, fields: (t) => ({ uid: t.exposeString('uid') }) });

builder.mutationField('deleteWebhook', (t) =>
  t.field({
    type: DeletedWebhook,
    description: 'Deletes a webhook. What waits is not sent.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteWebhook(ctx, { uid }),
  }),
);

builder.mutationField('rotateWebhookSecret', (t) =>
  t.field({
    type: WebhookSecret,
    description:
      'Gives a webhook another secret. For some hours requests are signed with the one before as well: `X-Service-Signature` with the one before, `X-Service-Signature-Next` with the new one, `webhook-signature` with both.',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true }),
      previousSecretHours: t.arg.int({
        description: 'How long the secret before signs as well; absent: 24 hours. 0: somebody else knows it.',
        check: previousSecretHoursInput,
      }),
    },
    resolve: (_root, args, ctx) => rotateWebhookSecret(ctx, args),
  }),
);

builder.mutationField('testWebhook', (t) =>
  t.field({
    type: WebhookDelivery,
    description:
      'Sends the example of the webhook’s event at once, with the header `X-Service-Test`. A failed test is an answer, not an error. At most 60 in an hour.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => testWebhook(ctx, { uid }),
  }),
);

builder.mutationField('resendWebhookDelivery', (t) =>
  t.field({
    type: WebhookDelivery,
    description: 'Sends one delivery again, with the same body and `X-Service-Delivery`; its retries begin anew.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }), webhookUid: t.arg.string({ required: true }) },
    resolve: (_root, { uid, webhookUid }, ctx) => resendDelivery(ctx, { uid, webhookUid }),
  }),
);

const ResentWebhookDeliveries = builder.objectRef<Resent>('ResentWebhookDeliveries').implement({
  authScopes: reading,
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'So many are sent again.' }),
    areMore: t.exposeBoolean('areMore', { description: 'There are more: call again with `after`.' }),
    lastUid: t.exposeString('lastUid', {
      nullable: true,
      description: 'The last of them, for `after` of the next call; null: there was none.',
    }),
  }),
});

builder.mutationField('resendWebhookDeliveries', (t) =>
  t.field({
    type: ResentWebhookDeliveries,
    description: 'Sends deliveries of a time again, at most 10,000 in a call, the oldest first.',
    authScopes: writing,
    args: {
      webhookUid: t.arg.string({ required: true }),
      state: t.arg({
        type: WebhookDeliveryState,
        description: 'Only those in this state; absent: failed and parked ones.',
      }),
      from: t.arg({ type: 'DateTime', description: 'Of events from this time on.' }),
      to: t.arg({ type: 'DateTime', description: 'Of events before this time.' }),
      after: t.arg.string({
        description: 'Only those after this delivery: `lastUid` of the call before.',
        check: lastUidInput,
      }),
    },
    resolve: (_root, args, ctx) => resendRange(ctx, args),
  }),
);

/** The domain checks that they are texts. */
function textsOf(
  headers: Readonly<Record<string, unknown>> | null | undefined,
): Record<string, string> | null | undefined {
  if (!headers) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : '\n']),
  );
}

function found(ctx: GraphqlContext, query: object, { customerId, id }: { customerId: bigint; id: bigint }) {
  return ctx.prisma.webhook.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
}
