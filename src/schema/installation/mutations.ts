/** Letting a restored backup go on. */
import { releaseInstallation, type AfterHold } from '../../domain/installation/restore-guard.ts';
import { builder } from '../builder.ts';

const AfterHoldChoice = builder.enumType('AfterHold', {
  description: 'What becomes of what was under way when the backup was made.',
  values: {
    PAUSE: {
      value: 'pause',
      description: 'Campaigns under way and scheduled ones are paused; mails of lists that waited are dropped.',
    },
    CONTINUE: { value: 'continue', description: 'Everything goes on where the backup left it: some get mail twice.' },
  } satisfies Record<string, { value: AfterHold; description: string }>,
});

const ReleasedInstallation = builder.objectRef<{ campaignsPaused: number }>('ReleasedInstallation').implement({
  authScopes: { admin: true },
  fields: (t) => ({ campaignsPaused: t.exposeInt('campaignsPaused') }),
});

builder.mutationField('releaseInstallation', (t) =>
  t.fieldWithInput({
    type: ReleasedInstallation,
    description: 'Lets an installation work that is held as a restored backup (`installation.hold`).',
    authScopes: { admin: true },
    errors: {},
    input: { underWay: t.input.field({ type: AfterHoldChoice, required: true }) },
    resolve: (_root, { input }, ctx) => releaseInstallation(ctx, input.underWay),
  }),
);
