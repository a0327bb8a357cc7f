/** Verifications of lists and imports, with live progress. */
import { isOpenVerification } from '../../domain/verification/verification.ts';
import { verificationStatuses } from '../../domain/verification/verification-fields.ts';
import { builder } from '../builder.ts';
import { MailList } from '../lists/mail-list.ts';

const VerificationStatusType = builder.enumType('VerificationStatus', {
  description: 'The state of a verification.',
  values: {
    queued: { description: 'Has not begun.' },
    running: { description: 'People are being verified.' },
    paused: { description: 'It cannot go on now; `reason` says why, and `retryAt` when it is tried again.' },
    done: { description: 'Everybody is verified.' },
    cancelled: { description: 'Somebody stopped it; results that people have stay.' },
  },
});

export const Verification = builder.prismaObject('Verification', {
  description: 'A run of a verifier over the people of a list, or those that an import has added.',
  authScopes: { scope: 'subscribers:read' },
  select: { customerId: true, id: true, status: true },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    status: t.field({ type: VerificationStatusType, resolve: ({ status }) => statusOf(status) }),
    isOver: t.boolean({
      description: 'Whether it has ended.',
      resolve: ({ status }) => !isOpenVerification({ status: statusOf(status) }),
    }),
    serverUid: t.exposeString('serverUid', { description: 'Of the verification server; empty: the first usable one.' }),
    serverName: t.exposeString('serverName', { description: 'As it was called when the verification was started.' }),
    importUid: t.exposeString('importUid', {
      nullable: true,
      description: 'Only people whom this import has added; null: those of the list.',
    }),
    olderThanDays: t.exposeInt('olderThanDays', {
      nullable: true,
      description: 'Also people whose result was older; null: only those without a result, or with `unknown`.',
    }),
    suppresses: t.exposeBoolean('suppresses', {
      description: 'Whether addresses that it finds undeliverable are suppressed.',
    }),
    suppressed: t.exposeInt('suppressed', {
      description: 'How many addresses it has suppressed; those that were suppressed before are not counted.',
    }),
    total: t.exposeInt('total', { nullable: true, description: 'People to verify; null until it begins.' }),
    processed: t.exposeInt('processed', { description: 'deliverable + undeliverable + risky + unknown.' }),
    deliverable: t.exposeInt('deliverable'),
    undeliverable: t.exposeInt('undeliverable'),
    risky: t.exposeInt('risky'),
    unknown: t.exposeInt('unknown'),
    reused: t.exposeInt('reused', {
      description: 'Of the processed those whose address was verified on another list not long ago: nobody was asked.',
    }),
    progress: t.float({
      description: 'From 0 to 1.',
      select: { total: true, processed: true },
      resolve: ({ status, total, processed }) =>
        status === 'done' ? 1 : total === null || total === 0 ? 0 : Math.min(1, processed / total),
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it is paused.' }),
    retryAt: t.expose('retryAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a paused one is tried again; null: when somebody resumes it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
    list: t.relation('list', { type: MailList }),
  }),
});

function statusOf(text: string) {
  const status = verificationStatuses.find((known) => known === text);
  if (!status) throw new Error(`A verification has the status ${text}.`);
  return status;
}
