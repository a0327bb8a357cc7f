/** Letting people in who matched an automation when it began, with its progress. */
import type { EnrolmentFault, EnrolmentStatus as Status } from '../../domain/automations/entries/enrolment.ts';
import type { Enrolment } from '../../domain/automations/entries/enrolment-read-model.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';
import { RefusedPeople } from './enrolment-preview.ts';

const reading = { scope: 'automations:read' } as const;

const EnrolmentStatus = closedSet<Status>('EnrolmentStatus', 'How far letting people in is.', {
  running: 'People enter, as many an hour as was chosen; none while the automation is paused.',
  done: 'Everybody who matched was looked at.',
  cancelled: 'Somebody ended it; who had entered stays.',
  failed: 'It ended by itself, with the reason.',
});

const EnrolmentReason = closedSet<EnrolmentFault>('EnrolmentReason', 'Why letting people in has failed.', {
  more_than_confirmed: 'More people may enter by now than were agreed to. Who has entered stays.',
  condition_unavailable: 'A plugin did not answer for a condition, again and again.',
  failed: 'It failed again and again; the log of the program says why.',
});

export const AutomationEnrolment = builder.objectRef<Enrolment>('AutomationEnrolment').implement({
  description: 'Letting people in who matched an automation when it began.',
  authScopes: reading,
  fields: (t) => ({
    status: t.expose('status', { type: EnrolmentStatus }),
    reason: t.expose('reason', { type: EnrolmentReason, nullable: true }),
    people: t.exposeInt('confirmed', { description: 'How many may enter, as whoever began it named it.' }),
    perHour: t.exposeInt('perHour'),
    segmentUid: t.exposeString('segmentUid', { nullable: true }),
    withoutTriggers: t.exposeBoolean('withoutTriggers'),
    matching: t.exposeInt('matching', { description: 'How many matched when it began.' }),
    entered: t.exposeInt('entered'),
    refused: t.field({
      type: [RefusedPeople],
      resolve: ({ refused }) => Object.entries(refused).map(([reason, people]) => ({ reason, people })),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
  }),
});
