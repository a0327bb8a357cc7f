/** Changing templates. */
import { createTemplateFromCampaign } from '../../domain/campaigns/create-template-from-campaign.ts';
import { addTemplate } from '../../domain/content/templates/add-template.ts';
import { copyBuiltInTemplate, copyTemplate } from '../../domain/content/templates/copy-template.ts';
import { deleteTemplate } from '../../domain/content/templates/delete-template.ts';
import {
  createTemplateInput,
  templateNameInput,
  updateTemplateInput,
} from '../../domain/content/templates/template-fields.ts';
import { updateTemplate } from '../../domain/content/templates/update-template.ts';
import { viewerOf } from '../../domain/context.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { TemplateKind } from '../enums.ts';
import { BuiltInTemplateName, Template } from './template.ts';

const writing = { scope: 'templates:write' } as const;
const NAME = { check: templateNameInput.shape.name };

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

const texts = (input: InputFields) => ({
  preheader: input.string({ description: 'The text that mail programs show after the subject. Null: none.' }),
  html: input.string({ description: 'Empty: there is only plain text.' }),
  plain: input.string({ description: 'Empty: made from the html.' }),
});

builder.mutationField('createTemplate', (t) =>
  t.prismaFieldWithInput({
    type: Template,
    description:
      'Saves the texts of a message under a name. A message is composed of them once, to check that this is possible.',
    authScopes: writing,
    typeOptions: { checks: createTemplateInput.shape },
    input: {
      name: t.input.string({ required: true }),
      kind: t.input.field({ type: TemplateKind, description: '`marketing` by default.' }),
      subject: t.input.string({ required: true }),
      ...texts(t.input),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await addTemplate(ctx, input)),
  }),
);

builder.mutationField('updateTemplate', (t) =>
  t.prismaFieldWithInput({
    type: Template,
    description: 'Changes what is given. Campaigns that copied the template keep their copy.',
    authScopes: writing,
    typeOptions: { checks: updateTemplateInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      kind: t.input.field({ type: TemplateKind }),
      subject: t.input.string(),
      ...texts(t.input),
      version: t.input.int({
        description:
          'The version that you have read: when it has another one by now, nothing is changed (`TEMPLATE_CHANGED`).',
      }),
    },
    resolve: async (query, _root, { input: { uid, ...fields } }, ctx) =>
      readBack(ctx, query, await updateTemplate(ctx, uid, fields)),
  }),
);

builder.mutationField('copyTemplate', (t) =>
  t.prismaField({
    type: Template,
    description: 'Copies a template.',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true }),
      name: t.arg.string({ ...NAME, description: 'Of the copy; by default the name of the original with "(copy)".' }),
    },
    resolve: async (query, _root, { uid, name }, ctx) => readBack(ctx, query, await copyTemplate(ctx, uid, { name })),
  }),
);

builder.mutationField('copyBuiltInTemplate', (t) =>
  t.prismaField({
    type: Template,
    description: 'Copies a template that comes with the product.',
    authScopes: writing,
    args: {
      builtIn: t.arg({ type: BuiltInTemplateName, required: true }),
      name: t.arg.string({ ...NAME, description: 'Of the copy; by default the title of the built-in one.' }),
    },
    resolve: async (query, _root, args, ctx) => readBack(ctx, query, await copyBuiltInTemplate(ctx, args)),
  }),
);

builder.mutationField('createTemplateFromCampaign', (t) =>
  t.prismaField({
    type: Template,
    description:
      'Keeps the texts of a campaign in any state as a template, without its attachments. Needs the scope `campaigns:read`, too.',
    authScopes: writing,
    args: {
      campaignUid: t.arg.string({ required: true }),
      name: t.arg.string({ ...NAME, description: 'By default the name of the campaign.' }),
      kind: t.arg({ type: TemplateKind, description: '`marketing` by default.' }),
    },
    resolve: async (query, _root, args, ctx) => readBack(ctx, query, await createTemplateFromCampaign(ctx, args)),
  }),
);

const DeletedTemplate = builder.objectRef<{ uid: string }>('DeletedTemplate').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteTemplate', (t) =>
  t.field({
    type: DeletedTemplate,
    description: 'Deletes a template; refused while something refers to it. Campaigns keep their copies.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteTemplate(ctx, uid),
  }),
);

type Query = Pick<Prisma.TemplateFindUniqueOrThrowArgs, 'include' | 'select'>;

/** What was written, as the database has it now. */
function readBack<Asked extends Query>(ctx: GraphqlContext, query: Asked, { uid }: { uid: string }) {
  const { customerId } = viewerOf(ctx);
  return ctx.prisma.template.findUniqueOrThrow({ ...query, where: { customerId_uid: { customerId, uid } } });
}
