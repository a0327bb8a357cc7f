/** The errors of segments, by code. */
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../../lib/errors.ts';
import { usedByFlows, type FlowUse } from '../../flow-uses/flow-use.ts';

const NO_SEGMENT = ['SEGMENT_NOT_FOUND', 'No segment has this uid.'] as const;
export const segmentNotFound = () => new NotFoundError(...NO_SEGMENT);
export const foreignSegment = () => new ForeignResourceError(...NO_SEGMENT);

const NO_CAMPAIGN = ['CAMPAIGN_NOT_FOUND', 'The rule names a campaign that does not exist.'] as const;
export const ruleCampaignNotFound = () => new NotFoundError(...NO_CAMPAIGN);
export const foreignRuleCampaign = () => new ForeignResourceError(...NO_CAMPAIGN);

export const segmentInUse = (campaigns: readonly string[]) =>
  new WrongStateError(
    'SEGMENT_IN_USE',
    `The segment cannot be deleted while a campaign that is not done uses it: ${campaigns.join(', ')}.`,
  );

export const segmentBeginsFlows = (uses: readonly FlowUse[]) =>
  new WrongStateError('SEGMENT_IN_USE', usedByFlows('segment', uses));

export const tooManySegments = (max: number) =>
  new ValidationError({ name: [`A list may not have more than ${max} segments.`] }, 'TOO_MANY_SEGMENTS');

/** The rule is valid, but too much work: the statement was stopped. */
export const segmentTooSlow = (seconds: number) =>
  new ValidationError(
    { rule: [`Finding these people takes longer than ${seconds} seconds: make the rule simpler.`] },
    'SEGMENT_TOO_SLOW',
  );

export const tooManyCounts = () =>
  new RateLimitedError('TOO_MANY_COUNTS', 'Too many segments are being counted at once.', 1);

/** Why a plugin's condition has no complete answer. */
export type UnavailableCause = 'inactive' | 'values' | 'failed' | 'late' | 'too_large' | 'lost';

export interface UnavailableCondition {
  /** `vendor/name`. */
  readonly plugin: string;
  readonly condition: string;
  readonly cause: UnavailableCause;
}

const CAUSES: Readonly<Record<UnavailableCause, string>> = {
  inactive:
    'The plugin is not active, does not offer this condition, or may not act for you: activate or switch on the plugin, or change the rule.',
  values: 'The present version of the plugin does not take the values of the rule: save the rule with other values.',
  failed: 'It failed. Try again later; the administrator of this installation finds the reason in the log.',
  late: 'It took too long. Try again later, or choose values that fewer people have.',
  too_large: 'Its answer has too many pages: choose values that fewer people have.',
  lost: 'Its answer is no longer there: try again.',
};

/** A sentence that names plugin and condition, and what to do. */
export function unavailableText({ plugin, condition, cause }: UnavailableCondition): string {
  const why = Object.hasOwn(CAUSES, cause) ? CAUSES[cause] : cause;
  return `The plugin ${plugin} has not said for whom its condition ${condition} holds, so nobody is picked. ${why}`;
}

/** `SEGMENT_CONDITION_UNAVAILABLE`: whom the rule picks is not known, which is neither nobody nor everybody. */
export class UnavailableConditionError extends ValidationError {
  readonly about: UnavailableCondition;

  constructor(about: UnavailableCondition) {
    const sentence = unavailableText(about);
    super({ rule: [sentence] }, 'SEGMENT_CONDITION_UNAVAILABLE', sentence);
    this.about = about;
  }
}
