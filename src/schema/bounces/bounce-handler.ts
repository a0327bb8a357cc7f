/** A bounce handler as its owner sees it, without the password, which is not read. */
import { builder } from '../builder.ts';
import { ActiveStatus, MailboxEncryption, MailboxProtocol } from '../enums.ts';

export const BounceHandler = builder.prismaObject('BounceHandler', {
  authScopes: { scope: 'sending-servers:read' },
  description: 'A mailbox that bounces and complaints come to, read every few minutes.',
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    protocol: t.expose('protocol', { type: MailboxProtocol, description: '`imap` or `pop3`.' }),
    host: t.exposeString('host'),
    port: t.exposeInt('port'),
    encryption: t.expose('encryption', { type: MailboxEncryption, description: '`tls`, `starttls` or `none`.' }),
    username: t.exposeString('username'),
    folder: t.exposeString('folder', { description: 'The folder of an IMAP mailbox.' }),
    keepsReports: t.exposeBoolean('keepsReports', {
      description: 'Reports that were processed stay in the mailbox; otherwise they are deleted.',
    }),
    isSystem: t.exposeBoolean('isSystem', { description: 'It takes reports about messages of all customers.' }),
    status: t.expose('status', {
      type: ActiveStatus,
      description: '`active` or `inactive`; an inactive one is not read.',
    }),
    polledAt: t.expose('polledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the mailbox was last read.',
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why reading failed. It is tried again, each time after a longer wait.',
    }),
    bounceCount: t.int({ resolve: ({ bounceCount }) => Number(bounceCount) }),
    complaintCount: t.int({ resolve: ({ complaintCount }) => Number(complaintCount) }),
    otherCount: t.int({
      description:
        'Messages that were no report, or about nothing of ours: they stay in the mailbox. Mails to unsubscribe addresses count here, too, and are deleted.',
      resolve: ({ otherCount }) => Number(otherCount),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});
