/** The errors of segments, by code. */
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../../lib/errors.ts';

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
