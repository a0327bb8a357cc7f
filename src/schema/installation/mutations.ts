/** Ending the hold of a restored backup. */
import { endHold, type AfterHold, type Released } from '../../domain/installation/restore-guard.ts';
import type { WaitingMails } from '../../domain/installation/waiting-mail-store.ts';
import { builder } from '../builder.ts';

const AfterHoldChoice = builder.enumType('AfterHold', {
  description: 'What happens to the work that was under way when the backup was made.',
  values: {
    PAUSE: {
      value: 'pause',
      description:
        'Campaigns under way, scheduled ones, and active automations are paused; mails of lists that waited before the hold began are dropped.',
    },
    CONTINUE: {
      value: 'continue',
      description:
        'Everything continues from the state in the backup: some people get mail twice. Nobody is charged twice: renewals that were due before the end of the hold are paid on the page.',
    },
  } satisfies Record<string, { value: AfterHold; description: string }>,
});

const DroppedMails = builder.objectRef<WaitingMails>('DroppedMails').implement({
  description: 'Mails of one kind and one list that were asked for before the hold began and are not sent.',
  authScopes: { admin: true },
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'Name of the job, such as `audience.send-confirmation`.' }),
    customerUid: t.exposeString('customerUid', { nullable: true }),
    listUid: t.exposeString('listUid', { nullable: true }),
    count: t.exposeInt('count'),
    firstAskedAt: t.expose('firstAskedAt', { type: 'DateTime' }),
    lastAskedAt: t.expose('lastAskedAt', { type: 'DateTime' }),
  }),
});

const ReleasedInstallation = builder.objectRef<Released>('ReleasedInstallation').implement({
  authScopes: { admin: true },
  fields: (t) => ({
    campaignsPaused: t.exposeInt('campaignsPaused'),
    automationsPaused: t.exposeInt('automationsPaused', {
      description: 'Activating one of them asks what becomes of steps that are late by more than an hour.',
    }),
    mailsDropped: t.field({ type: [DroppedMails], resolve: ({ mailsDropped }) => [...mailsDropped] }),
  }),
});

builder.mutationField('endHold', (t) =>
  t.fieldWithInput({
    type: ReleasedInstallation,
    description: 'Ends the hold of an installation that looks like a restored backup (`installation.hold`).',
    authScopes: { admin: true },
    input: { underWay: t.input.field({ type: AfterHoldChoice, required: true }) },
    resolve: (_root, { input }, ctx) => endHold(ctx, input.underWay),
  }),
);
