/** The errors of campaigns, with stable codes. */
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../lib/errors.ts';
import type { CampaignStatus } from './campaign-state-store.ts';

const NO_CAMPAIGN = ['CAMPAIGN_NOT_FOUND', 'No campaign has this uid.'] as const;

export function campaignNotFound(): NotFoundError {
  return new NotFoundError(...NO_CAMPAIGN);
}

/** With the same text as the error above, so that the campaign is not revealed. */
export function foreignCampaign(): ForeignResourceError {
  return new ForeignResourceError(...NO_CAMPAIGN);
}

export function attachmentNotFound(): NotFoundError {
  return new NotFoundError('ATTACHMENT_NOT_FOUND', 'The campaign has no attachment with this uid.');
}

export function dryRunRunning(): WrongStateError {
  return new WrongStateError('DRY_RUN_RUNNING', 'A dry run of this campaign is under way: cancel it first.');
}

export function noDryRun(): WrongStateError {
  return new WrongStateError('DRY_RUN_NOT_RUNNING', 'No dry run of this campaign is under way.');
}

/** `missing`: by field, what is needed before the campaign can be sent. */
export function campaignNotReady(missing: Record<string, string[]>): ValidationError {
  return new ValidationError(missing, 'CAMPAIGN_NOT_READY', 'The campaign is not ready to be sent.');
}

export function wrongCampaignState(act: string, status: CampaignStatus): WrongStateError {
  return new WrongStateError('CAMPAIGN_WRONG_STATE', `A campaign that is ${status} cannot be ${act}.`);
}

/** Only its reports are left (D57). */
export const campaignListDeleted = () =>
  new WrongStateError('CAMPAIGN_LIST_DELETED', 'The list of the campaign was deleted. Only its reports are left.');

export const tooManyPreviews = () =>
  new RateLimitedError('TOO_MANY_PREVIEWS', 'Your earlier previews are still being composed: wait for them.', 1);
