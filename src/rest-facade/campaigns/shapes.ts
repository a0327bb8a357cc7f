/** What the rows of campaigns answer (specification 2.4; decisions D7, D21, D23). */
import { z } from 'zod';
import { campaign, campaignRow } from './fields.ts';
import { actionShape, countShape, rateShape, timeShape, uidShape } from '../shapes.ts';

export const campaignRowShape = z.strictObject(campaignRow).meta({ id: 'CampaignRow' });

const campaignShape = z.strictObject(campaign).meta({ id: 'Campaign' });
const newCampaignShape = z
  .strictObject({ ...campaign, links: z.strictObject({ self: z.string() }) })
  .meta({ id: 'NewCampaign' });

const statisticsShape = z
  .strictObject({
    subscriber_count: countShape,
    pending_count: countShape,
    sent_count: countShape,
    failed_count: countShape,
    skipped_count: countShape,
    suppressed_count: countShape,
    unknown_count: countShape,
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
    implied_open_count: countShape,
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

const warningsShape = z
  .array(z.string())
  .meta({ description: 'For the author; they do not prevent sending: the html is so long that Gmail clips it.' });

export const oneCampaignShape = z.strictObject({ campaign: campaignShape, statistics: statisticsShape });
export const campaignCreatedShape = actionShape({
  campaign_uid: uidShape,
  // Some clients look for the uid here (wire facts, answers, 8).
  attributes: z.strictObject({ uid: uidShape }),
  warnings: warningsShape,
  campaign: newCampaignShape,
});
export const campaignUpdatedShape = actionShape({
  campaign_uid: uidShape,
  warnings: warningsShape,
  campaign: campaignShape,
});
export const campaignDeletedShape = actionShape({ campaign_uid: uidShape });
/** Starting and stopping answer with a text (specification 2.12). */
export const campaignMovedShape = z.strictObject({
  status: z.literal('success'),
  message: z.string(),
  campaign_uid: uidShape,
  campaign: campaignShape,
});
