/** Sending transactional mails, cancelling them, and sending them again. */
import { cancelTransactional } from '../../domain/delivery/transactional/cancel-transactional.ts';
import { resendTransactional } from '../../domain/delivery/transactional/resend-transactional.ts';
import { sendTransactional } from '../../domain/delivery/transactional/send-transactional.ts';
import {
  attachmentInput,
  recipientInput,
  RECIPIENTS_MAX,
  SCHEDULE_DAYS_MAX,
  sendTransactionalInput,
  type AcceptedMail as Accepted,
} from '../../domain/delivery/transactional/transactional.ts';
import { messageUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { AcceptedMail, sending } from './transactional-mail.ts';

const Recipient = builder.inputType('TransactionalRecipientInput', {
  description: 'An address, which need not be on any list.',
  checks: recipientInput.shape,
  fields: (t) => ({
    email: t.string({ required: true }),
    data: t.field({
      type: 'JsonObject',
      description: '`data.*` for this recipient; stands before the data of the call.',
    }),
  }),
});

const Attachment = builder.inputType('TransactionalAttachmentInput', {
  checks: attachmentInput.shape,
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name that readers see.' }),
    content: t.field({ type: 'Base64', required: true }),
  }),
});

const AcceptedMails = builder.objectRef<{ mails: readonly Accepted[] }>('AcceptedMails').implement({
  authScopes: sending,
  fields: (t) => ({
    mails: t.field({
      type: [AcceptedMail],
      description: 'One for each recipient, in their order.',
      resolve: ({ mails }) => [...mails],
    }),
  }),
});

builder.mutationField('sendTransactional', (t) =>
  t.fieldWithInput({
    type: AcceptedMails,
    description: `Sends a mail to up to ${RECIPIENTS_MAX} addresses, a message to each. When it is answered, all of them are in the log and will be sent.`,
    authScopes: sending,
    typeOptions: { checks: sendTransactionalInput.shape },
    input: {
      to: t.input.field({ type: [Recipient], required: true }),
      templateUid: t.input.string({
        description: 'A template, whose kind decides who may get it. Its texts are read when the mail is sent.',
      }),
      subject: t.input.string({ description: 'Without a template.' }),
      preheader: t.input.string(),
      html: t.input.string(),
      plain: t.input.string({ description: 'Empty: made from the html.' }),
      fromEmail: t.input.string({ description: 'By default that of the list.' }),
      fromName: t.input.string(),
      replyTo: t.input.string(),
      listUid: t.input.string({
        description:
          'The list from which its reader can unsubscribe: needed for templates of the kinds `optional` and `marketing`, which go to its subscribers only.',
      }),
      data: t.input.field({
        type: 'JsonObject',
        description: '`data.*` of Liquid, at most 64 KB. Values are escaped in html.',
      }),
      headers: t.input.field({
        type: 'JsonObject',
        description:
          'Further headers by name: X-..., In-Reply-To, References, Importance, Priority, Keywords, Organization.',
      }),
      attachments: t.input.field({ type: [Attachment] }),
      fileUids: t.input.stringList({
        description: 'Uploaded files as attachments (needs the scope `files:read`, too).',
      }),
      tags: t.input.stringList({ description: 'Words by which the log can be filtered.' }),
      externalId: t.input.string({
        description:
          'Your name for the mail: an address gets one mail with it from a template, however often you call.',
      }),
      sendAt: t.input.field({
        type: 'DateTime',
        description: `Not before this time, at most ${SCHEDULE_DAYS_MAX} days ahead. In the past: at once.`,
      }),
      trackOpens: t.input.boolean({ description: 'False by default.' }),
      trackClicks: t.input.boolean({ description: 'False by default.' }),
      upsertSubscriber: t.input.boolean({
        description:
          'Adds addresses that are not on the list to it, as `unconfirmed`: they get no campaign (needs the scope `subscribers:write`, too).',
      }),
    },
    resolve: async (_root, { input }, ctx) => ({ mails: await sendTransactional(ctx, input) }),
  }),
);

const ChangedMail = builder.objectRef<{ uid: string }>('ChangedTransactionalMail').implement({
  authScopes: sending,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

const UID = { required: true } as const;

builder.mutationField('cancelTransactional', (t) =>
  t.field({
    type: ChangedMail,
    description: 'Cancels a mail that waits for its time.',
    authScopes: sending,
    args: { uid: t.arg.string(UID) },
    resolve: async (_root, { uid }, ctx) => ({ uid: messageUid((await cancelTransactional(ctx, uid)).id) }),
  }),
);

builder.mutationField('resendTransactional', (t) =>
  t.field({
    type: ChangedMail,
    description: 'Sends a mail again whose outcome is known, as a new mail with the same content. Answers the new one.',
    authScopes: sending,
    args: { uid: t.arg.string(UID) },
    resolve: async (_root, { uid }, ctx) => ({ uid: messageUid((await resendTransactional(ctx, uid)).id) }),
  }),
);
