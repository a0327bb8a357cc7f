/** The errors of automations, by code. */
import {
  ForbiddenError,
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../lib/errors.ts';
import type { Refusal } from './entries/enter-people.ts';
import { faultLine, type FlowFault } from './flow/flow-fault.ts';

const NO_AUTOMATION = ['AUTOMATION_NOT_FOUND', 'No automation has this uid.'] as const;
export const automationNotFound = () => new NotFoundError(...NO_AUTOMATION);
export const foreignAutomation = () => new ForeignResourceError(...NO_AUTOMATION);

/** Others start it (D86). */
export const automationInUse = (
  starting: readonly { readonly automation: string; readonly nodes: readonly string[] }[],
) => {
  const named = starting.map(({ automation, nodes }) => `automation “${automation}” (${nodes.join(', ')})`).join('; ');
  return new WrongStateError(
    'AUTOMATION_IN_USE',
    `The automation cannot be deleted while an active automation starts it: ${named}. Publish a version without it and let people finish the earlier one, or pause that automation.`,
  );
};

export const tooManyAutomations = (max: number) =>
  new ValidationError({ name: [`A customer may not have more than ${max} automations.`] }, 'TOO_MANY_AUTOMATIONS');

export const tooManyVersions = (max: number) =>
  new ValidationError(
    { flow: [`An automation may not have more than ${max} published versions. Copy it, and publish the copy.`] },
    'TOO_MANY_VERSIONS',
  );

/** Of a document with the texts of mails. */
export const makesTemplates = () =>
  new ForbiddenError(
    'TEMPLATES_WRITE_NEEDED',
    'This makes templates of the mails: use a token with the scope templates:write, or name your own templates in mapping.templates.',
  );

/** Somebody else has saved the draft since it was read. */
export const draftChanged = (version: number) =>
  new WrongStateError(
    'AUTOMATION_CHANGED',
    `Somebody has changed the flow meanwhile: it is version ${version} now. Read it again, and make your change there.`,
  );

const FLOW_HAS_FAULTS = 'FLOW_HAS_FAULTS';

/** By its code: the schema shows errors through proxies, which hide their class. */
export function isFlowFaults(error: ValidationError): error is FlowFaultsError {
  return error.code === FLOW_HAS_FAULTS;
}

/** The flow cannot be published, or not with these moves of people. */
export class FlowFaultsError extends ValidationError {
  readonly faults: readonly FlowFault[];

  constructor(faults: readonly FlowFault[], of: 'flow' | 'moves' = 'flow') {
    const message =
      of === 'flow'
        ? 'The flow has faults and was not published.'
        : 'The moves of people have faults, and the flow was not published.';
    super({ [of]: faults.map(faultLine) }, FLOW_HAS_FAULTS, message);
    this.faults = faults;
  }
}

/** One change after the other: who is moved twice at once would be at neither place. */
export const peopleInMove = (version: number) =>
  new WrongStateError(
    'PEOPLE_IN_MOVE',
    `People are being moved to version ${version}. Publish without moves, or try again when they are there.`,
  );

/** So many parked people that a job would make them due. */
export const parkedInMove = (version: number) =>
  new WrongStateError(
    'PEOPLE_IN_MOVE',
    `People are being moved to version ${version}, parked ones, too. Try again when they are there, with the version and the node at which they are then.`,
  );

export const parkedWithoutMoves = () =>
  new ValidationError({ moveParked: ['Name the moves, too: without moves nobody is moved. The moves may be {}.'] });

/** More people have finished since the count was read. */
export const moreHaveFinished = (people: number) =>
  new WrongStateError(
    'MORE_HAVE_FINISHED',
    `By now, so many people have finished an earlier version: ${people}. Nobody was let in. Look at the number again, and confirm it.`,
  );

export const tooManyFinishedCounts = () =>
  new RateLimitedError(
    'TOO_MANY_COUNTS',
    'Too many counts of people who have finished wait for each other: try again in a moment.',
    1,
  );

export const unknownNode = (node: string) =>
  new ValidationError({ node: [`The published flow has no node “${node}”. Name one that it has.`] });

export const notPublished = () =>
  new WrongStateError('AUTOMATION_NOT_PUBLISHED', 'The automation has no published flow yet: publish it first.');

/** The flow was stopped, or nobody worked, for a while: what is late is not sent all at once without being asked (D85). */
export const hasOverdue = (runs: number) =>
  new WrongStateError(
    'AUTOMATION_HAS_OVERDUE',
    `Steps of ${runs} people are late by more than an hour. Say in overdue what becomes of them: now, spread, skip_mails or wait_anew.`,
  );

/** The limit of an administrator on events from outside. */
export const tooManyDryRuns = () =>
  new RateLimitedError('TOO_MANY_DRY_RUNS', 'Too many dry runs of yours wait for each other: try again later.', 5);

export const tooManyEvents = ({ max, used, seconds }: { max: number; used: number; seconds: number }) =>
  new RateLimitedError(
    'TOO_MANY_EVENTS',
    `You may record ${max} events within 24 hours, and have recorded ${used}. Try again later, with fewer events in a call, or ask your administrator for a higher limit.`,
    seconds,
  );

/** Of a call for an API-call node. */
export const noPerson = () =>
  new ValidationError({
    subscriber: ['The subscriber must name a person. Leave it out to call everybody who waits at the node.'],
  });

/** The same. */
export const notWaiting = (node: string) =>
  new WrongStateError('NOT_WAITING', `This person does not wait at the node “${node}”.`);

export const notActive = () =>
  new WrongStateError('AUTOMATION_NOT_ACTIVE', 'The automation is not active: nobody can enter. Activate it first.');

export const flowTestNotFound = () =>
  new NotFoundError('FLOW_TEST_NOT_FOUND', 'No test of the automation has this uid.');

export const flowTestOver = () =>
  new WrongStateError('FLOW_TEST_OVER', 'The test has ended already: there is nothing to cancel.');

export const tooManyFlowTests = (max: number) =>
  new RateLimitedError(
    'TOO_MANY_FLOW_TESTS',
    `At most ${max} tests of an automation run at once. Wait until one is done, or cancel one.`,
    WAIT_FOR_TEST_SECONDS,
  );

export const testAddressSuppressed = (email: string) => {
  const sentence = `${email} is suppressed: no mail is sent to it.`;
  return new ValidationError({ email: [sentence] }, 'ADDRESS_SUPPRESSED', sentence);
};

/** A test takes some waits of seconds. */
const WAIT_FOR_TEST_SECONDS = 30;

/** Who is there already comes without an event, so without its key. */
export const needsKeys = () =>
  new ValidationError(
    {
      entry: [
        'People enter this automation by the key of an event, which those who are there already do not have. Let them in one by one, by execute with a payload.',
      ],
    },
    'ENTRY_NEEDS_KEYS',
  );

/** Of a look at who would enter, before the act. */
export const enrolmentChanged = ({ confirmed, mayEnter }: { readonly confirmed: number; readonly mayEnter: number }) =>
  new ValidationError(
    {
      people: [
        `You named ${confirmed} people, but ${mayEnter} may enter now. Look again who they are, and name their number.`,
      ],
    },
    'ENROLMENT_CHANGED',
  );

export const nobodyEnters = () =>
  new WrongStateError('NOBODY_ENTERS', 'Nobody who matches may enter now. The preview says why.');

export const enrolmentRunning = () =>
  new WrongStateError(
    'ENROLMENT_RUNNING',
    'People are being let into the automation already. Wait until it is done, or cancel it.',
  );

export const noEnrolment = () =>
  new WrongStateError('NO_ENROLMENT', 'Nobody is being let into the automation now: there is nothing to cancel.');

/** For people. */
const REFUSED: Readonly<Record<Refusal, string>> = {
  unknown_person: 'The person is not on the list of the automation.',
  not_subscribed: 'The person does not get mail of this list.',
  suppressed: 'The address of the person is suppressed.',
  entered_before: 'The person has entered before, and may enter only once.',
  in_flow: 'The person is in the automation now, and may enter again only after the end.',
  too_soon: 'The person has entered too recently to enter again.',
  key_entered: 'The person has entered with this key before.',
  too_often: 'The person has entered too often within a day.',
  too_deep: 'Too many automations have started one another.',
  no_key: 'The payload has no value at the key of the automation.',
};

/** The code is the refusal in capitals. */
export const entryRefused = (refusal: Refusal) => new WrongStateError(refusal.toUpperCase(), REFUSED[refusal]);
