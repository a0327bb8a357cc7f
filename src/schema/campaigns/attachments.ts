/** Attachments of a campaign. */
import { attachFile, attachFileInput, detachFile } from '../../domain/campaigns/attach-file.ts';
import { viewerOf } from '../../domain/context.ts';
import { attachmentsOfEach, type Attachment } from '../../domain/delivery/campaigns/campaign-files-read-model.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { Campaign } from './campaign.ts';
import { readBack } from './read-back.ts';

const writing = { scope: 'campaigns:write' } as const;

const CampaignAttachment = builder.objectRef<Attachment>('CampaignAttachment').implement({
  description: 'An uploaded file that is sent with every copy of a message.',
  authScopes: { scope: 'campaigns:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name', { description: 'The name that readers see.' }),
    isInline: t.exposeBoolean('isInline', { description: 'A picture that the html shows as `cid:<name>`.' }),
    isMissing: t.boolean({
      description: 'Its file was deleted: the campaign cannot be sent until it is removed or attached again.',
      resolve: ({ file }) => file === null,
    }),
    contentType: t.string({ nullable: true, resolve: ({ file }) => file?.type }),
    sizeBytes: t.float({ nullable: true, resolve: ({ file }) => file?.size }),
    url: t.string({
      nullable: true,
      resolve: ({ file }, _args, ctx) =>
        file && `${ctx.installation.baseUrl}/files/${file.token}/${encodeURIComponent(file.name)}`,
    }),
  }),
});

const readAttachments = (ctx: GraphqlContext, ids: readonly bigint[]) =>
  attachmentsOfEach(ctx.db, viewerOf(ctx).customerId, ids);

builder.prismaObjectField(Campaign, 'attachments', (t) =>
  t.field({
    type: [CampaignAttachment],
    description: 'In the order of attaching; at most 30.',
    extensions: { listLength: 30 },
    select: { id: true },
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readAttachments).load(id),
  }),
);

builder.mutationField('addCampaignAttachment', (t) =>
  t.prismaFieldWithInput({
    type: Campaign,
    description:
      'Attaches an uploaded file, in the place of one of the same name. 10 MB each, 25 MB with the message after encoding, and no kinds that mailbox providers refuse.',
    authScopes: writing,
    typeOptions: { checks: attachFileInput.shape },
    input: {
      uid: t.input.string({ required: true, description: 'The uid of the campaign.' }),
      fileUid: t.input.string({ required: true }),
      name: t.input.string({ description: "What readers see it called; the file's own name when absent." }),
      inline: t.input.boolean({ description: 'A picture that the html shows as `cid:<name>`.' }),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await attachFile(ctx, input)),
  }),
);

builder.mutationField('removeCampaignAttachment', (t) =>
  t.prismaField({
    type: Campaign,
    description: 'Removes an attachment; the file stays.',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the campaign.' }),
      attachmentUid: t.arg.string({ required: true }),
    },
    resolve: async (query, _root, { uid, attachmentUid }, ctx) =>
      readBack(ctx, query, await detachFile(ctx, { uid, attachmentUid })),
  }),
);
