/** What the rows of campaigns answer (specification 2.4; decisions D7, D21, D23). */
import { z } from 'zod';
import { actionShape, countShape, rateShape, timeShape, uidShape } from '../shapes.ts';

const row = {
  uid: uidShape,
  name: z.string(),
  type: z.string(),
  subject: z.string(),
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

export const campaignRowShape = z.strictObject(row).meta({ id: 'CampaignRow' });

const campaign = {
  ...row,
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
  quiet_hours: z.strictObject({ from: z.string(), to: z.string(), timezone: z.string().nullable() }).nullable(),
  deliver_in_subscriber_timezone: z.boolean(),
  local_time: z.string().nullable(),
  status_reason: z.string().nullable(),
  waits_until: timeShape.nullable(),
};
const campaignShape = z.strictObject(campaign).meta({ id: 'Campaign' });
const newCampaignShape = z
  .strictObject({ ...campaign, links: z.strictObject({ self: z.string() }) })
  .meta({ id: 'NewCampaign' });

const statisticsShape = z
  .strictObject({
    subscriber_count: countShape,
    delivered_count: countShape,
    delivered_rate: rateShape,
    open_count: countShape,
    uniq_open_count: countShape,
    uniq_open_rate: rateShape,
    last_open: timeShape.nullable(),
    click_count: countShape,
    click_rate: rateShape,
    click_per_uniq_open: rateShape,
    last_click: timeShape.nullable(),
    human_open_count: countShape,
    human_uniq_open_count: countShape,
    human_uniq_open_rate: rateShape,
    human_click_count: countShape,
    human_uniq_click_count: countShape,
    human_click_rate: rateShape,
    machine_open_count: countShape,
    machine_click_count: countShape,
    abuse_feedback_count: countShape,
    bounce_count: countShape,
    unsubscribe_count: countShape,
    links: z.array(
      z.strictObject({
        url: z.string(),
        click_count: countShape,
        uniq_click_count: countShape,
        last_click: timeShape.nullable(),
      }),
    ),
    top_locations: z.array(
      z.strictObject({
        country: z.string().nullable(),
        region: z.string().nullable(),
        city: z.string().nullable(),
        open_count: countShape,
      }),
    ),
    top_open_subscribers: z.array(
      z.strictObject({ subscriber_uid: uidShape, email: z.string(), open_count: countShape }),
    ),
  })
  .meta({ id: 'CampaignStatistics' });

export const oneCampaignShape = z.strictObject({ campaign: campaignShape, statistics: statisticsShape });
export const campaignCreatedShape = actionShape({ campaign_uid: uidShape, campaign: newCampaignShape });
export const campaignUpdatedShape = actionShape({ campaign_uid: uidShape, campaign: campaignShape });
export const campaignDeletedShape = actionShape({ campaign_uid: uidShape });
/** Setting going and stopping say it in words (specification 2.12). */
export const campaignMovedShape = z.strictObject({
  status: z.literal('success'),
  message: z.string(),
  campaign_uid: uidShape,
  campaign: campaignShape,
});
