/** Campaigns (specification 4.4; decisions D7, D10, D21, D22). */
import type { RestCampaignFragment } from '../../generated/operations.ts';
import { created, done, ok, page, type Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { routesParameter } from '../sending-routes.ts';
import { presentCampaign, presentCampaignRow, presentNewCampaign, presentStatistics } from './present.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import {
  campaignCreatedShape,
  campaignDeletedShape,
  campaignMovedShape,
  campaignRowShape,
  campaignUpdatedShape,
  oneCampaignShape,
} from './shapes.ts';

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
    answers: answersCreated(campaignCreatedShape),
    required: ['list_uid', 'name', 'subject', 'from_email', 'from_name', 'html'],
    operation: 'CreateCampaign',
    variables: (input) => ({ input: { ...required(input), ...optional(input) } }),
    present: ({ createCampaign: campaign }) =>
      created('Campaign was successfully created', {
        campaign_uid: campaign.uid,
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
    answers: answersBody(campaignUpdatedShape),
    operation: 'UpdateCampaign',
    variables: (input) => ({ input: { uid: input.param('uid'), ...content(input), ...optional(input) } }),
    present: ({ updateCampaign: campaign }) =>
      done('Campaign was successfully updated', { campaign_uid: campaign.uid, campaign: presentCampaign(campaign) }),
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
    // The words that clients match on; that one whose time is to come is scheduled again, its own status says.
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

/** `status` is the text `success` where a campaign is set going or stopped (specification 2.12). */
function succeeded(message: string, campaign: RestCampaignFragment): Answer {
  return ok({ status: 'success', message, campaign_uid: campaign.uid, campaign: presentCampaign(campaign) });
}

function content(input: Input) {
  return {
    listUid: input.text('list_uid', 'mail_list_uid'),
    name: input.text('name'),
    subject: input.text('subject', 'default_subject'),
    fromEmail: input.text('from_email'),
    fromName: input.text('from_name'),
    html: input.text('html'),
  };
}

/** What is missing is sent as the empty text: the verb then says that it is required, together with all other faults. */
function required(input: Input) {
  const { listUid = '', name = '', subject = '', fromEmail = '', fromName = '', html = '' } = content(input);
  return { listUid, name, subject, fromEmail, fromName, html };
}

function optional(input: Input) {
  return {
    segmentUid: input.nullableText('segment_uid'),
    replyTo: input.text('reply_to'),
    plain: input.text('plain'),
    trackOpen: input.flag('track_open'),
    trackClick: input.flag('track_click'),
    signDkim: input.flag('sign_dkim'),
    skipFailedMessages: input.flag('skip_failed_messages'),
    embedImages: input.flag('embed_images'),
    deliveryAt: input.time('delivery_at', 'run_at'),
    sendingServers: routesParameter(input, 'sending_servers'),
    quietHours: quietHours(input),
    deliverInSubscriberTimezone: input.flag('deliver_in_subscriber_timezone'),
    localTime: input.nullableText('local_time'),
  };
}

/** `{from, to, timezone}`; null or an empty text in its place clears. */
function quietHours(input: Input) {
  const given = input.raw('quiet_hours');
  if (given === null || given === '') return null;
  const hours = input.object('quiet_hours');
  if (!hours) return undefined;
  return { from: hours.text('from') ?? '', to: hours.text('to') ?? '', timezone: hours.nullableText('timezone') };
}
