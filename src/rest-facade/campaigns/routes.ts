/** Campaigns (specification 4.4; decisions D7, D10, D21, D22). */
import type { RestCampaignFragment } from '../../generated/operations.ts';
import { created, done, ok, page, type Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import { content, optional, presentCampaign, presentCampaignRow, required } from './fields.ts';
import { presentNewCampaign, presentStatistics } from './present.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import {
  campaignCreatedShape,
  campaignDeletedShape,
  campaignMovedShape,
  campaignRowShape,
  campaignUpdatedShape,
  oneCampaignShape,
} from './shapes.ts';

const TEMPLATE =
  '`template_uid` (needs the scope `templates:read`, too) or `plugin_template`: subject, preheader, html and plain text that are not given are copied from that template.';

const launch = (path: '/campaigns/:uid/run' | '/campaigns/:uid/send') =>
  endpoint({
    method: 'POST',
    path,
    access: 'token',
    summary: 'Starts a campaign, schedules it, or resumes a paused one.',
    details: 'With `delivery_at` in the future it is scheduled. The errors name what is missing.',
    answers: answersBody(campaignMovedShape),
    operation: 'StartCampaign',
    variables: (input) => ({ uid: input.param('uid'), deliveryAt: input.time('delivery_at', 'run_at') }),
    present: ({ startCampaign }) => succeeded('The campaign was launched', startCampaign),
  });

export const campaignRows = [
  endpoint({
    method: 'GET',
    path: '/campaigns',
    access: 'token',
    summary: 'Lists the campaigns.',
    details:
      'Every row has its html and plain text, at most 32 MB of them in one answer: ask for a smaller page when it is refused with `errors.per_page`.',
    answers: answersPage(campaignRowShape),
    operation: 'Campaigns',
    variables: pageArguments,
    present: ({ campaignsPage }) => page(campaignsPage, presentCampaignRow),
  }),
  endpoint({
    method: 'POST',
    path: '/campaigns',
    access: 'token',
    summary: 'Makes a campaign.',
    details: TEMPLATE,
    takesHtml: true,
    answers: answersCreated(campaignCreatedShape),
    required: ['list_uid', 'name', 'subject', 'from_email', 'from_name', 'html'],
    operation: 'CreateCampaign',
    variables: (input) => ({ input: { ...required(input), ...optional(input) } }),
    present: ({ createCampaign: campaign }) =>
      created('Campaign was successfully created', {
        campaign_uid: campaign.uid,
        attributes: { uid: campaign.uid },
        warnings: campaign.warnings,
        campaign: presentNewCampaign(campaign),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/campaigns/:uid',
    access: 'token',
    summary: 'Shows a campaign with its statistics.',
    answers: answersBody(oneCampaignShape),
    operation: 'Campaign',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ campaign }) =>
      ok({ campaign: presentCampaign(campaign), statistics: presentStatistics(campaign.statistics) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/campaigns/:uid',
    access: 'token',
    summary: 'Changes a campaign: only what is given.',
    details: TEMPLATE,
    takesHtml: true,
    answers: answersBody(campaignUpdatedShape),
    operation: 'UpdateCampaign',
    variables: (input) => ({ input: { uid: input.param('uid'), ...content(input), ...optional(input) } }),
    present: ({ updateCampaign: campaign }) =>
      done('Campaign was successfully updated', {
        campaign_uid: campaign.uid,
        warnings: campaign.warnings,
        campaign: presentCampaign(campaign),
      }),
  }),
  launch('/campaigns/:uid/run'),
  launch('/campaigns/:uid/send'),
  endpoint({
    method: ['POST', 'GET'],
    path: '/campaigns/:uid/pause',
    access: 'token',
    summary: 'Pauses a campaign that is scheduled or under way.',
    answers: answersBody(campaignMovedShape),
    operation: 'PauseCampaign',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ pauseCampaign }) => succeeded('The campaign was paused', pauseCampaign),
  }),
  endpoint({
    method: 'POST',
    path: '/campaigns/:uid/resume',
    access: 'token',
    summary: 'Resumes a paused campaign.',
    answers: answersBody(campaignMovedShape),
    operation: 'ResumeCampaign',
    variables: (input) => ({ uid: input.param('uid') }),
    // The exact text that clients compare; the status shows when a campaign is scheduled again.
    present: ({ resumeCampaign }) => succeeded('The campaign was resumed', resumeCampaign),
  }),
  endpoint({
    method: 'DELETE',
    path: '/campaigns/:uid',
    access: 'token',
    summary: 'Deletes a campaign that is not under way.',
    answers: answersBody(campaignDeletedShape),
    operation: 'DeleteCampaign',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteCampaign: { uid } }) => done('Deleted', { campaign_uid: uid }),
  }),
];

/** `status` is the text `success` where a campaign is started or stopped (specification 2.12). */
function succeeded(message: string, campaign: RestCampaignFragment): Answer {
  return ok({ status: 'success', message, campaign_uid: campaign.uid, campaign: presentCampaign(campaign) });
}
