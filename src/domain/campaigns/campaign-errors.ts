/** What can be wrong about a campaign, with stable codes. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';
import type { CampaignStatus } from './campaign.ts';

export function campaignNotFound(): NotFoundError {
  return new NotFoundError('CAMPAIGN_NOT_FOUND', 'No campaign has this uid.');
}

export function foreignCampaign(): ForeignResourceError {
  return new ForeignResourceError('FOREIGN_RESOURCE', 'This campaign is not yours.');
}

/** `missing` says by field what is needed before the campaign can be sent. */
export function campaignNotReady(missing: Record<string, string[]>): ValidationError {
  return new ValidationError(missing, 'CAMPAIGN_NOT_READY', 'The campaign is not ready to be sent.');
}

export function wrongCampaignState(act: string, status: CampaignStatus): WrongStateError {
  return new WrongStateError('CAMPAIGN_WRONG_STATE', `A campaign that is ${status} cannot be ${act}.`);
}
