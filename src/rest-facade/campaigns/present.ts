/** How REST shows a new campaign, and the figures of one (specification 2.4; decisions D7, D23). */
import type { RestCampaignFragment, RestCampaignStatisticsFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';
import { presentCampaign } from './fields.ts';

/** A new campaign, with its address. */
export function presentNewCampaign(campaign: RestCampaignFragment) {
  return { ...presentCampaign(campaign), links: { self: `/api/v1/campaigns/${campaign.uid}` } };
}

export function presentStatistics(figures: RestCampaignStatisticsFragment) {
  return {
    subscriber_count: figures.subscriberCount,
    pending_count: figures.pendingCount,
    sent_count: figures.sentCount,
    failed_count: figures.failedCount,
    skipped_count: figures.skippedCount,
    suppressed_count: figures.suppressedCount,
    unknown_count: figures.unknownCount,
    delivered_count: figures.deliveredCount,
    delivered_rate: figures.deliveredRate,
    open_count: figures.openCount,
    uniq_open_count: figures.uniqOpenCount,
    uniq_open_rate: figures.uniqOpenRate,
    last_open: restTime(figures.lastOpen),
    click_count: figures.clickCount,
    click_rate: figures.clickRate,
    click_per_uniq_open: figures.clickPerUniqOpen,
    last_click: restTime(figures.lastClick),
    human_open_count: figures.humanOpenCount,
    human_uniq_open_count: figures.humanUniqOpenCount,
    human_uniq_open_rate: figures.humanUniqOpenRate,
    human_click_count: figures.humanClickCount,
    human_uniq_click_count: figures.humanUniqClickCount,
    human_click_rate: figures.humanClickRate,
    machine_open_count: figures.machineOpenCount,
    implied_open_count: figures.impliedOpenCount,
    machine_click_count: figures.machineClickCount,
    abuse_feedback_count: figures.abuseFeedbackCount,
    bounce_count: figures.bounceCount,
    unsubscribe_count: figures.unsubscribeCount,
    links: figures.links.map((link) => ({
      url: link.url,
      click_count: link.clickCount,
      uniq_click_count: link.uniqClickCount,
      last_click: restTime(link.lastClick),
    })),
    top_locations: figures.topLocations.map(({ country, region, city, openCount }) => ({
      country,
      region,
      city,
      open_count: openCount,
    })),
    top_open_subscribers: figures.topOpenSubscribers.map(({ subscriberUid, email, openCount }) => ({
      subscriber_uid: subscriberUid,
      email,
      open_count: openCount,
    })),
  };
}
