/** The results, as the product counts them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Client } from './client.ts';
import { count, counted, duration, percent } from './format.ts';
import type { ImportReport } from './import-people.ts';
import type { Played } from './play-recipients.ts';
import type { SentCampaign } from './send-campaign.ts';

const STATISTICS = `query DemoReport($uid: String!, $listUid: String!) {
  campaign(uid: $uid) {
    __typename
    ... on Campaign {
      statistics {
        subscriberCount sentCount failedCount unknownCount
        openCount uniqOpenCount uniqOpenRate clickCount uniqClickCount clickRate unsubscribeCount
        links { url clickCount uniqClickCount }
      }
    }
    ... on Error { message }
  }
  list(uid: $listUid) {
    __typename
    ... on MailList { counters { subscribed unsubscribed } }
    ... on Error { message }
  }
}`;
const SETTLE_MS = 1_200;
const SETTLE_TIMES_MAX = 60;
/** On a busy machine more may come after a while without. */
const SETTLED_TIMES = 3;

const number = z.number();
const statistics = z.object({
  campaign: z.object({
    statistics: z.object({
      subscriberCount: number,
      sentCount: number,
      failedCount: number,
      unknownCount: number,
      openCount: number,
      uniqOpenCount: number,
      uniqOpenRate: number,
      clickCount: number,
      uniqClickCount: number,
      clickRate: number,
      unsubscribeCount: number,
      links: z.array(z.object({ url: z.string(), clickCount: number, uniqClickCount: number })),
    }),
  }),
  list: z.object({ counters: z.object({ subscribed: number, unsubscribed: number }) }),
});

export interface Story {
  readonly listUid: string;
  readonly imported: ImportReport;
  readonly campaign: SentCampaign;
  readonly played: Played;
}

/** Reads the figures and prints them, with addresses for more. */
export async function printReport(client: Client, story: Story): Promise<void> {
  const { imported, campaign, played, listUid } = story;
  const read = await settled(() => client.run(STATISTICS, { uid: campaign.uid, listUid }, statistics));
  const figures = read.campaign.statistics;
  const { counters } = read.list;
  const perSecond = figures.sentCount / (campaign.tookMs / 1_000);
  const lines = [
    '',
    `  Imported      ${counted(imported.added, 'person').replace('persons', 'people')} in ${duration(imported.tookMs)}, ${counted(imported.rejected, 'line')} rejected`,
    ...imported.rejectedLines.map(({ line, reason }) => `                  line ${count(line)}: ${reason}`),
    `  Sent          ${count(figures.sentCount)} of ${counted(figures.subscriberCount, 'mail')} in ${duration(campaign.tookMs)}, ${count(perSecond)} a second`,
    ...(figures.failedCount + figures.unknownCount === 0
      ? []
      : [`  Not sent      ${count(figures.failedCount)} failed, ${count(figures.unknownCount)} unknown`]),
    `  Opened by     ${count(figures.uniqOpenCount)} (${percent(figures.uniqOpenRate)}), ${counted(figures.openCount, 'time')}`,
    `  Clicked by    ${count(figures.uniqClickCount)} (${percent(figures.clickRate)}), ${counted(figures.clickCount, 'time')}`,
    ...figures.links
      .toSorted((a, b) => b.clickCount - a.clickCount)
      .map(({ url, clickCount }) => `                  ${count(clickCount).padStart(5)}  ${url}`),
    `  Unsubscribed  ${count(figures.unsubscribeCount)}; the list has ${count(counters.subscribed)} subscribed and ${count(counters.unsubscribed)} unsubscribed`,
    '',
    `  The mails     ${client.url}/inbox`,
    ...(played.messageId === undefined ? [] : [`  One of them   ${client.url}/inbox/${played.messageId}`]),
    `  Look around   ${client.url}/graphql (explorer), ${client.url}/api/v1/campaigns/${campaign.uid} (REST)`,
    '',
  ];
  console.log(lines.join('\n'));
}

/** Opens and clicks are counted some time after they are answered: read again until nothing more comes. */
async function settled(read: () => Promise<z.output<typeof statistics>>): Promise<z.output<typeof statistics>> {
  let now = await read();
  let settledTimes = 0;
  for (let times = 0; times < SETTLE_TIMES_MAX && settledTimes < SETTLED_TIMES; times++) {
    await sleep(SETTLE_MS);
    const before = now.campaign.statistics;
    now = await read();
    const { openCount, clickCount } = now.campaign.statistics;
    settledTimes = openCount === before.openCount && clickCount === before.clickCount ? settledTimes + 1 : 0;
  }
  return now;
}
