/** A campaign's fields in REST, each by its name there: in parameters, answers and OpenAPI (specification 2.4; decisions D7, D21, D23). */
import { z } from 'zod';
import type { RestCampaignFragment } from '../../generated/operations.ts';
import type { Input } from '../input.ts';
import { presentQuietHours, quietHoursIn, quietHoursShape } from '../quiet-hours.ts';
import { routesParameter } from '../sending-routes.ts';
import { timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

export function content(input: Input) {
  return {
    listUid: input.text('list_uid', 'mail_list_uid'),
    name: input.text('name'),
    subject: input.text('subject', 'default_subject'),
    fromEmail: input.text('from_email'),
    fromName: input.text('from_name'),
    html: input.text('html'),
  };
}

/** A missing value is sent as the empty text: the verb then reports it as required, together with all other faults. */
export function required(input: Input) {
  const { listUid = '', name = '', subject = '', fromEmail = '', fromName = '', html = '' } = content(input);
  return { listUid, name, subject, fromEmail, fromName, html };
}

export function optional(input: Input) {
  return {
    type: input.text('type'),
    segmentUid: input.nullableText('segment_uid'),
    templateUid: input.text('template_uid'),
    pluginTemplate: input.text('plugin_template'),
    preheader: input.text('preheader'),
    replyTo: input.text('reply_to'),
    plain: input.text('plain'),
    trackOpen: input.flag('track_open'),
    trackClick: input.flag('track_click'),
    signDkim: input.flag('sign_dkim'),
    skipFailedMessages: input.flag('skip_failed_messages'),
    embedImages: input.flag('embed_images'),
    deliveryAt: input.time('delivery_at', 'run_at'),
    sendingServers: routesParameter(input, 'sending_servers'),
    quietHours: quietHoursIn(input),
    deliverInSubscriberTimezone: input.flag('deliver_in_subscriber_timezone'),
    localTime: input.nullableText('local_time'),
  };
}

/** A row of the index. */
export function presentCampaignRow(campaign: RestCampaignFragment) {
  return {
    uid: campaign.uid,
    name: campaign.name,
    type: campaign.type,
    subject: campaign.subject,
    preheader: campaign.preheader,
    html: campaign.html,
    plain: campaign.plain,
    from_email: campaign.fromEmail,
    from_name: campaign.fromName,
    reply_to: campaign.replyTo,
    status: campaign.status,
    delivery_at: restTime(campaign.deliveryAt),
    created_at: restTime(campaign.createdAt),
    updated_at: restTime(campaign.updatedAt),
  };
}

/** The whole campaign: what a single read and every action shows. */
export function presentCampaign(campaign: RestCampaignFragment) {
  return {
    ...presentCampaignRow(campaign),
    default_subject: campaign.subject,
    list: campaign.listName,
    list_uid: campaign.listUid,
    segment: campaign.segmentName,
    segment_uid: campaign.segmentUid,
    remind_message: campaign.remindMessage,
    track_open: campaign.trackOpen,
    track_click: campaign.trackClick,
    sign_dkim: campaign.signDkim,
    skip_failed_messages: campaign.skipFailedMessages,
    embed_images: campaign.embedImages,
    sending_servers: campaign.sendingServers.map(({ uid, weight }) => ({ uid, weight })),
    quiet_hours: campaign.quietHours && presentQuietHours(campaign.quietHours),
    deliver_in_subscriber_timezone: campaign.deliverInSubscriberTimezone,
    local_time: campaign.localTime,
    status_reason: campaign.statusReason,
    waits_until: restTime(campaign.waitsUntil),
  };
}

export const campaignRow = {
  uid: uidShape,
  name: z.string(),
  type: z.string(),
  subject: z.string(),
  preheader: z.string(),
  html: z.string(),
  plain: z.string(),
  from_email: z.string(),
  from_name: z.string(),
  reply_to: z.string(),
  status: z.enum(['new', 'ready', 'scheduled', 'queued', 'sending', 'paused', 'done', 'error']),
  delivery_at: timeShape.nullable(),
  created_at: timeShape,
  updated_at: timeShape,
};

export const campaign = {
  ...campaignRow,
  default_subject: z.string(),
  list: z.string(),
  list_uid: uidShape,
  segment: z.string().nullable(),
  segment_uid: uidShape.nullable(),
  remind_message: z.string().nullable(),
  track_open: z.boolean(),
  track_click: z.boolean(),
  sign_dkim: z.boolean(),
  skip_failed_messages: z.boolean(),
  embed_images: z.boolean(),
  sending_servers: z.array(z.strictObject({ uid: uidShape, weight: z.int() })),
  quiet_hours: quietHoursShape.nullable(),
  deliver_in_subscriber_timezone: z.boolean(),
  local_time: z.string().nullable(),
  status_reason: z.string().nullable(),
  waits_until: timeShape.nullable(),
};
