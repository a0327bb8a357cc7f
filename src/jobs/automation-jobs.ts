/** Jobs of automations. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** A call is a promise to everybody who waits, and a deletion one to the customer: the queue tries for days. */
const ATTEMPTS_MAX = 25;

/** The queue's own growing delay makes this about a day. */
const MAIL_ATTEMPTS_MAX = 12;

/** About a day: whoever began it is to see that it does not go on. */
const ENROL_ATTEMPTS_MAX = 12;

/** Somebody waits for the mails: some minutes. */
const TEST_ATTEMPTS_MAX = 5;

/** Mails a customer's users that an automation was stopped after an outage. */
export const stoppedMailJob = defineJob({
  name: 'automations.stopped-mail',
  payload: z.object({ customerId: id, automationId: id, hours: z.int() }),
  attemptsMax: MAIL_ATTEMPTS_MAX,
});

/** Mails a customer's users that a node of an automation was paused, because too many people were parked there. */
export const pausedNodeMailJob = defineJob({
  name: 'automations.paused-node-mail',
  payload: z.object({
    ...{ customerId: id, automationId: id, version: z.int(), node: z.string(), moved: z.int(), parked: z.int() },
  }),
  attemptsMax: MAIL_ATTEMPTS_MAX,
});

/** Mails a customer's users that people have entered an automation too often, and enter it no more. */
export const blockedPeopleMailJob = defineJob({
  name: 'automations.blocked-people-mail',
  payload: z.object({ customerId: id, automationId: id }),
  attemptsMax: MAIL_ATTEMPTS_MAX,
});

/** Mails a customer's users that people in an automation wait for a plugin that has not answered for some time. */
export const unansweredMailJob = defineJob({
  name: 'automations.unanswered-mail',
  payload: z.object({ customerId: id, automationId: id }),
  attemptsMax: MAIL_ATTEMPTS_MAX,
});

/** Lets the mails of a flow go that were held back while it was stopped, as was chosen for what is late. */
export const resumeMailsJob = defineJob({
  name: 'automations.resume-mails',
  payload: z.object({
    ...{ customerId: id, automationId: id },
    choice: z
      .object({
        mode: z.enum(['spread', 'skip_mails', 'wait_anew']),
        ...{ until: z.coerce.date(), from: z.coerce.date(), hours: z.int() },
      })
      .optional(),
  }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Makes parked runs of a node due, those behind the first thousand. */
export const unparkJob = defineJob({
  name: 'automations.unpark',
  payload: z.object({
    ...{ customerId: id, automationId: id, version: z.int(), node: z.string() },
    ...{ request: z.string().nullable(), afterId: id },
  }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Moves people of earlier versions of a flow to this one. */
export const movePeopleJob = defineJob({
  name: 'automations.move-people',
  payload: z.object({ customerId: id, automationId: id, version: z.int(), afterId: id, isLast: z.boolean() }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Lets people who finished an earlier version of a flow in at a node of this one. */
export const sendToFinishedJob = defineJob({
  name: 'automations.send-to-finished',
  payload: z.object({
    ...{ customerId: id, automationId: id, version: z.int(), node: z.string() },
    ...{ until: z.coerce.date(), afterId: id },
  }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Looks at the people of a flow who changed while it was stopped. */
export const lookAgainJob = defineJob({
  name: 'automations.look-again',
  payload: z.object({ customerId: id, automationId: id, since: z.coerce.date() }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Erases what is left of deleted automations. */
export const eraseGoneJob = defineJob({
  name: 'automations.erase-gone',
  payload: z.looseObject({}),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Gives new jobs to what is under way without one. */
export const reviveLostJob = defineJob({
  name: 'automations.revive-lost',
  payload: z.looseObject({}),
  // The next one comes in some minutes.
  attemptsMax: 1,
});

/** Moves everybody on who waits at an API-call node, batch by batch. */
export const callEverybodyJob = defineJob({
  name: 'automations.call-everybody',
  payload: z.object({
    ...{ customerId: id, automationId: id, node: z.string(), calledAt: z.coerce.date() },
    payload: z.record(z.string(), z.unknown()).nullable(),
  }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Lets people in who match an automation already, as many as its rate allows, and then the next ones. */
export const enrolJob = defineJob({
  name: 'automations.enrol',
  payload: z.object({ customerId: id, enrolmentId: id }),
  attemptsMax: ENROL_ATTEMPTS_MAX,
  isLong: true,
});

/** Takes the next steps of a live test of a flow. */
export const flowTestJob = defineJob({
  name: 'automations.test',
  payload: z.object({ customerId: id, testId: id }),
  attemptsMax: TEST_ATTEMPTS_MAX,
});
