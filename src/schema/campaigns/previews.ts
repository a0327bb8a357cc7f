/** Previews of a campaign's message, and of a message that is not saved. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { bytesOfPreview } from '../../domain/campaigns/compose-preview.ts';
import { previewCampaign, type CampaignPreview } from '../../domain/campaigns/preview-campaign.ts';
import { PREVIEW_MINUTES } from '../../domain/campaigns/preview-link.ts';
import { previewMessage, previewTextsInput } from '../../domain/campaigns/preview-message.ts';
import type { TrackedLink } from '../../domain/content/message.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';

const reading = { scope: 'campaigns:read' } as const;

const MessageHeader = builder.objectRef<CampaignPreview['headers'][number]>('MessageHeader').implement({
  authScopes: reading,
  fields: (t) => ({ name: t.exposeString('name'), value: t.exposeString('value', { description: 'On one line.' }) }),
});

const MessageLink = builder.objectRef<TrackedLink>('MessageLink').implement({
  authScopes: reading,
  fields: (t) => ({
    no: t.exposeInt('no'),
    url: t.exposeString('url', { description: 'As its author wrote it, merge tags unfilled.' }),
  }),
});

const CampaignPreviewType = builder.objectRef<CampaignPreview>('CampaignPreview').implement({
  description: 'The message as a person would get it. Its links belong to nobody, so clicks on them are not counted.',
  authScopes: reading,
  fields: (t) => ({
    subject: t.exposeString('subject'),
    html: t.exposeString('html', {
      nullable: true,
      description: 'Without the pixel. It is whatever its author wrote: show it in a sandbox.',
    }),
    plain: t.exposeString('plain'),
    headers: t.field({ type: [MessageHeader], resolve: ({ headers }) => [...headers] }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Of the whole message, files included, before signing.' }),
    links: t.field({ type: [MessageLink], description: 'Those that are tracked.', resolve: ({ links }) => [...links] }),
    warnings: t.stringList({
      description: 'Warnings for its author; they do not prevent sending.',
      resolve: ({ warnings }) => [...warnings],
    }),
    url: t.string({
      nullable: true,
      description:
        `A page with this html, for a frame of a page of this installation or of \`CORS_ORIGINS\`: its scripts and forms do not work. ` +
        `It needs no cookie and no token, and works for ${PREVIEW_MINUTES} minutes while the token that asked for it is valid. Null: the message is not saved.`,
      resolve: ({ page }) => page?.url,
    }),
    urlExpiresAt: t.field({ type: 'DateTime', nullable: true, resolve: ({ page }) => page?.expiresAt }),
  }),
});

async function counted(ctx: GraphqlContext, preview: CampaignPreview): Promise<CampaignPreview> {
  await takeContent(ctx, bytesOfPreview(preview));
  return preview;
}

builder.queryField('campaignPreview', (t) =>
  t.field({
    type: CampaignPreviewType,
    description: 'Composes the message of a campaign in any state, a draft too, and sends nothing.',
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the campaign.' }),
      subscriber: t.arg.string({
        description:
          "Somebody on the campaign's list (needs the scope `subscribers:read`, too); absent: values that stand for none.",
        check: subscriberRefInput,
      }),
    },
    resolve: async (_root, { uid, subscriber }, ctx) => counted(ctx, await previewCampaign(ctx, { uid, subscriber })),
  }),
);

builder.queryField('previewMessage', (t) =>
  t.field({
    type: CampaignPreviewType,
    description:
      'Composes a message that is not saved: a new one to a list, or a campaign with changes. `listUid`, `campaignUid` or both are given. Stores and sends nothing; its links belong to no campaign. `subscriber` needs the scope `subscribers:read` too, `listUid` the scope `lists:read`.',
    authScopes: reading,
    args: {
      listUid: t.arg.string({
        description:
          'Of a new message: its sender and subject are used where none is given. Of a campaign: another list than its own.',
      }),
      campaignUid: t.arg.string({ description: 'What is not given is as it is stored, attachments included.' }),
      subscriber: t.arg.string({
        description: 'Somebody on the list; absent: values that stand for none.',
        check: subscriberRefInput,
      }),
      subject: t.arg.string({ check: previewTextsInput.shape.subject }),
      preheader: t.arg.string({ check: previewTextsInput.shape.preheader }),
      fromEmail: t.arg.string({ check: previewTextsInput.shape.fromEmail }),
      fromName: t.arg.string({ check: previewTextsInput.shape.fromName }),
      replyTo: t.arg.string({ check: previewTextsInput.shape.replyTo }),
      html: t.arg.string({ check: previewTextsInput.shape.html }),
      plain: t.arg.string({ description: 'Empty: made from the html.', check: previewTextsInput.shape.plain }),
    },
    resolve: async (_root, args, ctx) => counted(ctx, await previewMessage(ctx, args)),
  }),
);
