/** Extensions of campaigns: attachments, previews, tests and dry runs. */
import { created, done, ok } from '../answer.ts';
import { emailsIn } from '../email-list.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { UPLOAD_OPERATIONS, uploadIncoming } from '../files/upload-incoming.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import {
  attachedShape,
  attachmentsShape,
  detachedShape,
  dryRunActionShape,
  oneDryRunShape,
  previewShape,
  testsQueuedShape,
  testsShape,
} from './message-shapes.ts';
import { presentAttachment, presentDryRun, presentPreview, presentTest } from './present-messages.ts';

const uidOf = (input: Input) => ({ uid: input.param('uid') });

export const campaignMessageRows = [
  endpoint({
    method: 'GET',
    path: '/campaigns/:uid/attachments',
    access: 'token',
    summary: "Lists the files that are attached to a campaign's messages.",
    answers: answersBody(attachmentsShape),
    operation: 'CampaignAttachments',
    variables: uidOf,
    present: ({ campaign }) => ok({ attachments: campaign.attachments.map(presentAttachment) }),
  }),
  customEndpoint({
    method: 'POST',
    path: '/campaigns/:uid/attachments',
    access: 'token',
    summary: 'Attaches an uploaded file (`file_uid`), or the file of a multipart form.',
    details:
      'With `inline` it is a picture that the html shows as `cid:<name>`. At most 10 MB each, 25 MB with the message ' +
      'after encoding, and no kinds that mailbox providers refuse. One of the same name is replaced.',
    answers: answersCreated(attachedShape),
    takesFile: true,
    operations: [...UPLOAD_OPERATIONS, 'CampaignAttachments', 'AddCampaignAttachment'],
    run: async (call) => {
      const { input } = call;
      const [given, name, inline] = [input.text('file_uid'), input.text('name'), input.flag('inline')];
      input.check();
      const uid = input.param('uid');
      // A file is accepted only for an existing campaign, and only if no stored file is named.
      await call.execute('CampaignAttachments', { uid });
      const file = call.upload && !given ? await uploadIncoming(call) : undefined;
      // A missing value is sent as the empty text: the verb then reports it as required.
      const fields = { uid, fileUid: file?.uid ?? given ?? '', name, inline };
      const { addCampaignAttachment: campaign } = await call
        .execute('AddCampaignAttachment', { input: fields })
        .catch(async (error: unknown) => {
          if (file) await call.execute('DeleteFile', { uid: file.uid }).catch(() => undefined);
          throw error;
        });
      const attached =
        campaign.attachments.find((one) => one.name === (name || file?.name)) ?? campaign.attachments.at(-1);
      if (!attached) throw new Error('What was attached is not there.');
      const answer = {
        campaign_uid: campaign.uid,
        attachment_uid: attached.uid,
        attachment: presentAttachment(attached),
      };
      return created('The file was attached', answer);
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/campaigns/:uid/attachments/:attachment_uid',
    access: 'token',
    summary: 'Removes an attachment from a campaign; the file stays.',
    answers: answersBody(detachedShape),
    operation: 'RemoveCampaignAttachment',
    variables: (input) => ({ uid: input.param('uid'), attachmentUid: input.param('attachment_uid') }),
    present: ({ removeCampaignAttachment: { uid } }) => done('Deleted', { campaign_uid: uid }),
  }),
  endpoint({
    method: 'GET',
    path: '/campaigns/:uid/preview',
    access: 'token',
    summary: 'Composes the message as a subscriber would get it, and sends nothing.',
    details:
      "`subscriber`: uid, id or address of somebody on the list; it needs the scope `subscribers:read` too. The html is its author's: show it in a sandbox, or in a frame by `url`, a page that needs no token and expires.",
    answers: answersBody(previewShape),
    operation: 'CampaignPreview',
    variables: (input) => ({ uid: input.param('uid'), subscriber: input.text('subscriber', 'subscriber_uid') }),
    present: ({ campaignPreview }) => ok({ preview: presentPreview(campaignPreview) }),
  }),
  endpoint({
    method: 'POST',
    path: '/campaigns/preview',
    access: 'token',
    takesHtml: true,
    summary: 'Composes a message that is not saved, and stores and sends nothing.',
    details:
      'A new message to a list (`list_uid`; its sender and subject are used where none is given), or a campaign with changes ' +
      '(`campaign_uid`; what is not given is as it is stored; `list_uid` is another list than its own). `subscriber`: somebody on the list; it needs the scope `subscribers:read` too, and `list_uid` the scope `lists:read`. `url` is null.',
    answers: answersBody(previewShape),
    operation: 'PreviewMessage',
    variables: (input) => ({
      listUid: input.text('list_uid'),
      campaignUid: input.text('campaign_uid'),
      subscriber: input.text('subscriber', 'subscriber_uid'),
      subject: input.text('subject'),
      preheader: input.nullableText('preheader'),
      fromEmail: input.text('from_email'),
      fromName: input.text('from_name'),
      replyTo: input.text('reply_to'),
      html: input.text('html'),
      plain: input.text('plain'),
    }),
    present: ({ previewMessage }) => ok({ preview: presentPreview(previewMessage) }),
  }),
  endpoint({
    method: 'POST',
    path: '/campaigns/:uid/test',
    access: 'token',
    summary: 'Sends the message to a few addresses, as recipients would get it.',
    details:
      '`emails`: up to 10, as an array or separated by commas; 100 an hour. `subscriber`: whose values it shows; it needs the scope `subscribers:read` too. The subject begins with "[Test]" unless ' +
      '`mark_subject` is off; links belong to nobody, and nothing is counted.',
    answers: answersCreated(testsQueuedShape),
    required: ['emails'],
    operation: 'SendTestCampaign',
    variables: (input) => ({
      input: {
        uid: input.param('uid'),
        emails: emailsIn(input),
        subscriber: input.text('subscriber', 'subscriber_uid'),
        markSubject: input.flag('mark_subject'),
      },
    }),
    present: ({ sendTestCampaign: { uid, messages } }) =>
      created('The test is on its way', { campaign_uid: uid, tests: messages.map(presentTest) }),
  }),
  endpoint({
    method: 'GET',
    path: '/campaigns/:uid/tests',
    access: 'token',
    summary: 'Shows the results of the latest tests.',
    answers: answersBody(testsShape),
    operation: 'CampaignTests',
    variables: uidOf,
    present: ({ campaign }) => ok({ tests: campaign.testMessages.map(presentTest) }),
  }),
  endpoint({
    method: 'POST',
    path: '/campaigns/:uid/dry_run',
    access: 'token',
    summary: 'Composes the message for everybody to whom the campaign would be sent now, and sends none.',
    answers: answersCreated(dryRunActionShape),
    operation: 'StartCampaignDryRun',
    variables: uidOf,
    present: ({ startCampaignDryRun }, _view, input) =>
      created('The dry run was started', {
        campaign_uid: input.param('uid'),
        dry_run: presentDryRun(startCampaignDryRun),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/campaigns/:uid/dry_run',
    access: 'token',
    summary: 'Shows the latest dry run: progress, size, who is skipped, and for whom composing fails.',
    answers: answersBody(oneDryRunShape),
    operation: 'CampaignDryRun',
    variables: uidOf,
    present: ({ campaign: { dryRun } }) => ok({ dry_run: dryRun && presentDryRun(dryRun) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/campaigns/:uid/dry_run',
    access: 'token',
    summary: 'Cancels the dry run that is under way.',
    answers: answersBody(dryRunActionShape),
    operation: 'CancelCampaignDryRun',
    variables: uidOf,
    present: ({ cancelCampaignDryRun }, _view, input) =>
      done('The dry run was cancelled', {
        campaign_uid: input.param('uid'),
        dry_run: presentDryRun(cancelCampaignDryRun),
      }),
  }),
];
