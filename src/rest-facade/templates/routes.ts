/** Templates (decision D100): the texts of messages, and those that come with the product. */
import { z } from 'zod';
import { created, done, ok, page } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { sortedIndexArguments, sortedIndexName } from '../sorted-index.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { emailsIn } from '../email-list.ts';
import {
  builtInTemplateShape,
  KINDS,
  oneTemplateShape,
  presentActed,
  presentTemplate,
  presentTemplateRow,
  templateActionShape,
  templateDeletedShape,
  templatePreviewShape,
  templateRowShape,
  templateTestsShape,
} from './present.ts';

const CREATED = 'Template was successfully created';

export const templateRows = [
  endpoint({
    method: 'GET',
    path: '/templates',
    access: 'token',
    summary: 'Lists the templates, without their html and plain text.',
    details: '`q` is looked for in name and subject. `created_at[from]` and `created_at[to]` are times.',
    answers: answersPage(templateRowShape),
    operation: 'Templates',
    fieldName: sortedIndexName,
    variables: filters,
    present: ({ templatesPage }) => page(templatesPage, presentTemplateRow),
  }),
  endpoint({
    method: 'POST',
    path: '/templates',
    access: 'token',
    summary: 'Saves the texts of a message under a name.',
    details:
      '`kind`: `transactional`, `optional` or `marketing` (the default). `html`, `plain` or both are needed. A message is composed of the texts once, to check that this is possible.',
    takesHtml: true,
    answers: answersCreated(templateActionShape),
    required: ['name', 'subject'],
    operation: 'CreateTemplate',
    variables: (input) => ({
      // A missing value is sent as the empty text: the verb then reports it as required.
      input: { ...texts(input), name: input.text('name') ?? '', subject: input.text('subject') ?? '' },
    }),
    present: ({ createTemplate }) => created(CREATED, presentActed(createTemplate)),
  }),
  endpoint({
    method: 'GET',
    path: '/templates/:uid',
    access: 'token',
    summary: 'Shows a template.',
    answers: answersBody(oneTemplateShape),
    operation: 'Template',
    variables: uidOf,
    present: ({ template }) => ok({ template: presentTemplate(template) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/templates/:uid',
    access: 'token',
    summary: 'Changes a template: only what is given. Campaigns keep their copies.',
    details: 'With `version`, nothing is changed when the template has another version by now.',
    takesHtml: true,
    answers: answersBody(templateActionShape),
    operation: 'UpdateTemplate',
    variables: (input) => ({
      input: {
        ...{ uid: input.param('uid'), name: input.text('name'), subject: input.text('subject') },
        ...{ ...texts(input), version: input.integer('version') },
      },
    }),
    present: ({ updateTemplate }) => done('Template was successfully updated', presentActed(updateTemplate)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/templates/:uid',
    access: 'token',
    summary: 'Deletes a template that nothing refers to. Campaigns keep their copies.',
    answers: answersBody(templateDeletedShape),
    operation: 'DeleteTemplate',
    variables: uidOf,
    present: ({ deleteTemplate: { uid } }) => done('Deleted', { template_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/templates/:uid/copy',
    access: 'token',
    summary: 'Copies a template.',
    answers: answersCreated(templateActionShape),
    operation: 'CopyTemplate',
    variables: (input) => ({ uid: input.param('uid'), name: input.text('name') }),
    present: ({ copyTemplate }) => created(CREATED, presentActed(copyTemplate)),
  }),
  endpoint({
    method: 'POST',
    path: '/templates/:uid/preview',
    access: 'token',
    summary: 'Composes a message of a template, and stores and sends nothing.',
    details:
      'Texts that are given are used instead of the stored ones. `list_uid`: whose sender, contact and fields are shown (needs the scope `lists:read`, too). ' +
      "`subscriber`: somebody on that list (needs the scope `subscribers:read`, too). `data`: an object, the template's `data.*`. The html is its author's: show it in a sandbox.",
    takesHtml: true,
    answers: answersBody(templatePreviewShape),
    operation: 'TemplatePreview',
    variables: (input) => ({
      ...{ uid: input.param('uid'), listUid: input.text('list_uid') },
      ...{ subscriber: input.text('subscriber', 'subscriber_uid'), data: input.plainObject('data') },
      ...{ subject: input.text('subject'), ...texts(input) },
    }),
    present: ({ templatePreview: { sizeBytes, subject, html, plain, warnings } }) =>
      ok({ preview: { subject, html, plain, size: sizeBytes, warnings } }),
  }),
  endpoint({
    method: 'POST',
    path: '/templates/:uid/test',
    access: 'token',
    summary: 'Sends a template to a few addresses, as an automation would send it to people of a list.',
    details:
      '`emails`: up to 10, as an array or separated by commas; 100 an hour together with tests of campaigns. `list_uid`: whose sender, contact and fields it has (needs the scope `lists:read`, too). ' +
      '`subscriber`: whose values it shows (needs the scope `subscribers:read`, too). `data` and `payload`: objects, the `data.*` and `payload.*` of its Liquid. The subject begins with "[Test]" unless ' +
      '`mark_subject` is off; links belong to nobody, and nothing is counted.',
    answers: answersCreated(templateTestsShape),
    required: ['emails', 'list_uid'],
    operation: 'SendTestTemplate',
    variables: (input) => ({
      input: {
        // A missing value is sent as the empty text: the verb then reports it as required.
        ...{ uid: input.param('uid'), listUid: input.text('list_uid') ?? '', emails: emailsIn(input) },
        subscriber: input.text('subscriber', 'subscriber_uid'),
        ...{ data: input.plainObject('data'), payload: input.plainObject('payload') },
        markSubject: input.flag('mark_subject'),
      },
    }),
    present: ({ sendTestTemplate: { uid, tests } }) =>
      created('The test is on its way', {
        template_uid: uid,
        tests: tests.map(({ email, messageUid }) => ({ email, message_uid: messageUid })),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/campaigns/:uid/template',
    access: 'token',
    summary: 'Keeps the texts of a campaign as a template, without its attachments.',
    details: 'Needs the scopes `templates:write` and `campaigns:read`. `name`: that of the campaign by default.',
    answers: answersCreated(templateActionShape),
    operation: 'CreateTemplateFromCampaign',
    variables: (input) => ({
      campaignUid: input.param('uid'),
      name: input.text('name'),
      kind: input.choice('kind', KINDS),
    }),
    present: ({ createTemplateFromCampaign }) => created(CREATED, presentActed(createTemplateFromCampaign)),
  }),
  endpoint({
    method: 'GET',
    path: '/built_in_templates',
    access: 'token',
    summary: 'Lists the templates that come with the product: copy one, and change the copy.',
    answers: answersBody(z.array(builtInTemplateShape)),
    operation: 'BuiltInTemplates',
    variables: () => ({}),
    present: ({ builtInTemplates }) => ok(builtInTemplates.nodes),
  }),
  endpoint({
    method: 'POST',
    path: '/built_in_templates/:built_in/copy',
    access: 'token',
    summary: 'Copies a template that comes with the product.',
    answers: answersCreated(templateActionShape),
    operation: 'CopyBuiltInTemplate',
    variables: (input) => ({ builtIn: input.param('built_in'), name: input.text('name') }),
    present: ({ copyBuiltInTemplate }) => created(CREATED, presentActed(copyBuiltInTemplate)),
  }),
];

function uidOf(input: Input) {
  return { uid: input.param('uid') };
}

function texts(input: Input) {
  return {
    kind: input.choice('kind', KINDS),
    preheader: input.nullableText('preheader'),
    html: input.text('html'),
    plain: input.text('plain'),
  };
}

function filters(input: Input) {
  return { kind: input.choice('kind', KINDS), ...sortedIndexArguments(input) };
}
