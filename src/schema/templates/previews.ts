/** Previews of templates. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { bytesOfPreview, type ComposedPreview } from '../../domain/campaigns/compose-preview.ts';
import { previewTemplate, previewTemplateInput } from '../../domain/campaigns/preview-template.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import { TemplateKind } from '../enums.ts';

const reading = { scope: 'templates:read' } as const;
const { subject, preheader, html, plain } = previewTemplateInput.shape;

const TemplatePreview = builder.objectRef<ComposedPreview>('TemplatePreview').implement({
  description: 'The template as somebody would get it. Its links belong to nobody, so clicks on them are not counted.',
  authScopes: reading,
  fields: (t) => ({
    subject: t.exposeString('subject'),
    html: t.exposeString('html', {
      nullable: true,
      description: 'It is whatever its author wrote: show it in a sandbox. Null: there is only plain text.',
    }),
    plain: t.exposeString('plain'),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Of the whole message, before signing.' }),
    warnings: t.stringList({
      description: 'Warnings for its author; they do not prevent sending.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

builder.queryField('templatePreview', (t) =>
  t.field({
    type: TemplatePreview,
    description:
      'Composes a message of a template, with the texts that are given instead of the stored ones. Stores and sends nothing.',
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the template.' }),
      listUid: t.arg.string({
        description:
          'Whose sender, contact and fields are shown (needs the scope `lists:read`, too); absent: those of an example.',
      }),
      subscriber: t.arg.string({
        description: 'Somebody on that list (needs the scope `subscribers:read`, too); absent: sample values.',
        check: subscriberRefInput,
      }),
      data: t.arg({
        type: 'JsonObject',
        description: '`data.*` of its Liquid, at most 64 KB; what is missing is empty.',
      }),
      kind: t.arg({ type: TemplateKind }),
      subject: t.arg.string({ check: subject }),
      preheader: t.arg.string({ check: preheader }),
      html: t.arg.string({ check: html }),
      plain: t.arg.string({ description: 'Empty: made from the html.', check: plain }),
    },
    resolve: async (_root, args, ctx) => {
      const preview = await previewTemplate(ctx, args);
      await takeContent(ctx, bytesOfPreview(preview));
      return preview;
    },
  }),
);
