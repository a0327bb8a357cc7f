/** Jobs of automations: enrolments, tests, moves to a new version, what goes on after a stop, mails that a changed cap held back, a call for everybody who waits at an API-call node, mails to their owners, jobs that were lost, and erasing what is left of deleted ones. */
import { callEverybody } from '../../domain/automations/api-calls/call-everybody.ts';
import { eraseGone } from '../../domain/automations/delete-automation.ts';
import { freeHeldMails } from '../../domain/automations/stopping/free-held-mails.ts';
import { lookAgain } from '../../domain/automations/stopping/look-again.ts';
import { movePeople } from '../../domain/automations/versions/move-people.ts';
import {
  enqueueBlockedPeopleMails,
  enqueuePausedNodeMails,
  enqueueUnansweredMails,
} from '../../domain/automations/runs/notices.ts';
import { workEnrolment } from '../../domain/automations/entries/work-enrolment.ts';
import { workFlowTest } from '../../domain/automations/live-test/work-flow-test.ts';
import { unparkOthers } from '../../domain/automations/runs/parked-runs.ts';
import { reviveLost } from '../../domain/automations/engine/revive-lost.ts';
import { resumeMails } from '../../domain/automations/stopping/resume-mails.ts';
import { sendToFinishedPeople } from '../../domain/automations/versions/send-to-finished.ts';
import { enqueueStoppedMails } from '../../domain/automations/engine/watch-outage.ts';
import { freeHeldMailsJob } from '../../jobs/audience-jobs.ts';
import {
  blockedPeopleMailJob,
  callEverybodyJob,
  enrolJob,
  eraseGoneJob,
  flowTestJob,
  lookAgainJob,
  movePeopleJob,
  pausedNodeMailJob,
  resumeMailsJob,
  reviveLostJob,
  sendToFinishedJob,
  stoppedMailJob,
  unansweredMailJob,
  unparkJob,
} from '../../jobs/automation-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export const automationTasks: readonly Task[] = [
  defineTask(callEverybodyJob, (ctx, call, { abortSignal }) => callEverybody(ctx, call, () => abortSignal.aborted)),
  defineTask(stoppedMailJob, (ctx, stopped, { jobId }) => enqueueStoppedMails(ctx, jobId, stopped)),
  defineTask(pausedNodeMailJob, (ctx, paused, { jobId }) => enqueuePausedNodeMails(ctx, jobId, paused)),
  defineTask(blockedPeopleMailJob, (ctx, key) => enqueueBlockedPeopleMails(ctx, key)),
  defineTask(unansweredMailJob, (ctx, key) => enqueueUnansweredMails(ctx, key)),
  defineTask(resumeMailsJob, (ctx, key, { abortSignal }) => resumeMails(ctx, key, () => abortSignal.aborted)),
  defineTask(unparkJob, (ctx, parked, { abortSignal }) => unparkOthers(ctx, parked, () => abortSignal.aborted)),
  defineTask(enrolJob, (ctx, { customerId, enrolmentId }, { abortSignal, attempt }) =>
    workEnrolment(
      ctx,
      { customerId, id: enrolmentId },
      { isStopping: () => abortSignal.aborted, isLastTry: attempt >= enrolJob.attemptsMax },
    ),
  ),
  defineTask(flowTestJob, (ctx, { customerId, testId }, { abortSignal, attempt }) =>
    workFlowTest(
      ctx,
      { customerId, id: testId },
      { isStopping: () => abortSignal.aborted, isLastTry: attempt >= flowTestJob.attemptsMax },
    ),
  ),
  defineTask(movePeopleJob, (ctx, moving, { abortSignal }) => movePeople(ctx, moving, () => abortSignal.aborted)),
  defineTask(sendToFinishedJob, (ctx, sent, { abortSignal }) =>
    sendToFinishedPeople(ctx, sent, () => abortSignal.aborted),
  ),
  defineTask(lookAgainJob, (ctx, look, { abortSignal }) => lookAgain(ctx, look, () => abortSignal.aborted)),
  defineTask(reviveLostJob, (ctx) => reviveLost(ctx)),
  defineTask(freeHeldMailsJob, (ctx, changed, { abortSignal }) =>
    freeHeldMails(ctx, changed, () => abortSignal.aborted),
  ),
  defineTask(eraseGoneJob, (ctx, _payload, { abortSignal }) => eraseGone(ctx, () => abortSignal.aborted)),
];
