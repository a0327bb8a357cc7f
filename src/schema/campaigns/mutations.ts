/** Changing campaigns. */
import { createCampaignInput, updateCampaignInput } from '../../domain/campaigns/campaign-fields.ts';
import { createCampaign } from '../../domain/campaigns/create-campaign.ts';
import { decideUnknownDeliveries } from '../../domain/campaigns/decide-unknown-deliveries.ts';
import { deleteCampaign } from '../../domain/campaigns/delete-campaign.ts';
import { pauseCampaign } from '../../domain/campaigns/pause-campaign.ts';
import { resumeCampaign } from '../../domain/campaigns/resume-campaign.ts';
import { scheduleCampaign } from '../../domain/campaigns/schedule-campaign.ts';
import { startCampaign } from '../../domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../domain/campaigns/update-campaign.ts';
import { builder } from '../builder.ts';
import { UnknownDecision } from './unknown-decision.ts';
import { optionalFields } from './campaign-fields.ts';
import { Campaign } from './campaign.ts';
import { readBack } from './read-back.ts';

const writing = { scope: 'campaigns:write' } as const;

builder.mutationField('createCampaign', (t) =>
  t.prismaFieldWithInput({
    type: Campaign,
    description: 'Creates a campaign to one list. Its message is composed once, to check that this is possible.',
    authScopes: writing,
    typeOptions: { checks: createCampaignInput.shape },
    input: {
      listUid: t.input.string({ required: true }),
      name: t.input.string({ required: true }),
      subject: t.input.string({ required: true }),
      fromEmail: t.input.string({ required: true }),
      fromName: t.input.string({ required: true }),
      html: t.input.string({ required: true }),
      ...optionalFields(t.input),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await createCampaign(ctx, input)),
  }),
);

builder.mutationField('updateCampaign', (t) =>
  t.prismaFieldWithInput({
    type: Campaign,
    description:
      'Changes what is given. Refused once recipients are in the ledger: whoever was mailed got what is shown.',
    authScopes: writing,
    typeOptions: { checks: updateCampaignInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      listUid: t.input.string(),
      name: t.input.string(),
      subject: t.input.string(),
      fromEmail: t.input.string(),
      fromName: t.input.string(),
      html: t.input.string(),
      ...optionalFields(t.input),
    },
    resolve: async (query, _root, { input: { uid, ...fields } }, ctx) =>
      readBack(ctx, query, await updateCampaign(ctx, uid, fields)),
  }),
);

builder.mutationField('startCampaign', (t) =>
  t.prismaField({
    type: Campaign,
    description: 'Starts a campaign, or continues a paused one. With a future time it is scheduled.',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true }),
      deliveryAt: t.arg({ type: 'DateTime', description: 'Replaces the time the campaign has.' }),
    },
    resolve: async (query, _root, { uid, deliveryAt }, ctx) =>
      readBack(ctx, query, await (deliveryAt ? scheduleCampaign(ctx, uid, deliveryAt) : startCampaign(ctx, uid))),
  }),
);

builder.mutationField('pauseCampaign', (t) =>
  t.prismaField({
    type: Campaign,
    description:
      'Pauses a campaign. After the answer no further message is begun; those in flight are finished and recorded.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => readBack(ctx, query, await pauseCampaign(ctx, uid)),
  }),
);

builder.mutationField('resumeCampaign', (t) =>
  t.prismaField({
    type: Campaign,
    description: 'Continues a paused campaign from where it stopped.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => readBack(ctx, query, await resumeCampaign(ctx, uid)),
  }),
);

const DecidedDeliveries = builder.objectRef<{ uid: string; decided: number }>('DecidedDeliveries').implement({
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the campaign.' }),
    decided: t.exposeInt('decided', { description: 'How many deliveries with an unknown outcome were decided.' }),
  }),
});

builder.mutationField('decideUnknownDeliveries', (t) =>
  t.field({
    type: DecidedDeliveries,
    description: 'Decides by hand about deliveries that were handed over and never answered (state UNKNOWN).',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }), decision: t.arg({ type: UnknownDecision, required: true }) },
    resolve: (_root, { uid, decision }, ctx) => decideUnknownDeliveries(ctx, uid, decision),
  }),
);

const DeletedCampaign = builder.objectRef<{ uid: string }>('DeletedCampaign').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteCampaign', (t) =>
  t.field({
    type: DeletedCampaign,
    description: 'Erases a campaign with its ledger and figures; refused while it is under way.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteCampaign(ctx, uid),
  }),
);
