/** Letting people in who match an automation already (decision D71): a look, the act with its progress, and its end before the time. */
import { cancelEntering, enrolmentsOf } from '../../domain/automations/entries/cancel-entering.ts';
import { enterExisting, enterExistingInput } from '../../domain/automations/entries/enter-existing.ts';
import { previewEntering } from '../../domain/automations/entries/preview-entering.ts';
import { builder } from '../builder.ts';
import { EnrolmentPreview } from './enrolment-preview.ts';
import { AutomationEnrolment } from './enrolment.ts';

const reading = { scope: 'automations:read' } as const;
const writing = { scope: 'automations:write' } as const;

const UID = 'The uid of the automation.';
const SEGMENT = 'Only those of this segment of the list.';
const WITHOUT_TRIGGERS =
  'True: also who is not what the triggers and their filters ask for. Without a segment: everybody who gets mail of the list.';

builder.queryField('automationEnrolmentPreview', (t) =>
  t.field({
    type: EnrolmentPreview,
    description:
      'How many people match the triggers of the live version already, with their filters, and how many of them would enter by its rules of entry. Changes nothing.',
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true, description: UID }),
      segmentUid: t.arg.string({ description: SEGMENT }),
      withoutTriggers: t.arg.boolean({ description: WITHOUT_TRIGGERS }),
    },
    resolve: (_root, { uid, ...whom }, ctx) => previewEntering(ctx, uid, whom),
  }),
);

builder.queryField('automationEnrolments', (t) =>
  t.field({
    type: [AutomationEnrolment],
    description: 'The last times that people were let in who matched already, the newest first, with their progress.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, description: UID }) },
    resolve: async (_root, { uid }, ctx) => [...(await enrolmentsOf(ctx, uid))],
  }),
);

builder.mutationField('enrolInAutomation', (t) =>
  t.fieldWithInput({
    type: AutomationEnrolment,
    description:
      'Lets in who matches an active automation already: publishing and activating let nobody in. A job does it, so many an hour; who is refused is counted with the reason. One at a time for each automation (`ENROLMENT_RUNNING`). An automation that people enter by a key of an event is refused (`ENTRY_NEEDS_KEYS`).',
    authScopes: writing,
    input: {
      uid: t.input.string({ required: true, description: UID }),
      people: t.input.int({
        required: true,
        description:
          'How many may enter, as `automationEnrolmentPreview` says (`mayEnter`). When 5 % more or fewer may by now, and at least 10, it is refused (`ENROLMENT_CHANGED`).',
        check: enterExistingInput.shape.people,
      }),
      perHour: t.input.int({
        required: true,
        description: 'People an hour.',
        check: enterExistingInput.shape.perHour,
      }),
      segmentUid: t.input.string({ description: SEGMENT }),
      withoutTriggers: t.input.boolean({ description: WITHOUT_TRIGGERS }),
    },
    resolve: (_root, { input: { uid, ...given } }, ctx) => enterExisting(ctx, uid, given),
  }),
);

builder.mutationField('cancelAutomationEnrolment', (t) =>
  t.field({
    type: AutomationEnrolment,
    description: 'Lets no further people in; who has entered stays.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true, description: UID }) },
    resolve: (_root, { uid }, ctx) => cancelEntering(ctx, uid),
  }),
);
