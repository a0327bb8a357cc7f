/** Makes the campaign, runs it and watches it being sent. */
import { z } from 'zod';
import type { Client } from './client.ts';
import { DemoError } from './demo-error.ts';
import { count } from './format.ts';
import { progressBar } from './progress-bar.ts';

export interface SentCampaign {
  readonly uid: string;
  readonly tookMs: number;
}

const HTML = `<!doctype html>
<html><body style="font-family: sans-serif; line-height: 1.5">
<h1>The lamp is lit again</h1>
<p>Dear {{ subscriber.first_name | default: "friend" }},</p>
<p>after a winter of work the lighthouse shines. Greetings to {CITY}!
{% if subscriber.orders != "" %}You have ordered {ORDERS} times: thank you.{% endif %}</p>
<ul>
<li><a href="https://lighthouse.example/lamp">How we mended the lamp</a></li>
<li><a href="https://lighthouse.example/open-day?who={SUBSCRIBER_UID}">Come to the open day</a></li>
<li><a href="https://shop.lighthouse.example/postcards">New postcards in the shop</a></li>
<li><a href="https://lighthouse.example/webcam">The view from the top, live</a></li>
</ul>
<p><a href="{WEB_VIEW_URL}">Read this in a browser</a> · <a href="{UPDATE_PROFILE_URL}">Change your details</a></p>
</body></html>`;

const CREATE = `mutation DemoCampaign($input: CreateCampaignInput!) {
  createCampaign(input: $input) {
    __typename
    ... on Campaign { uid }
    ... on Error { message }
    ... on ValidationError { fields { field messages } }
  }
}`;
const created = z.object({ createCampaign: z.object({ uid: z.string() }) });

const START = `mutation DemoStart($uid: String!) {
  startCampaign(uid: $uid) {
    __typename
    ... on Campaign { status }
    ... on Error { message }
    ... on ValidationError { fields { field messages } }
  }
}`;
const startedCampaign = z.object({ startCampaign: z.object({ status: z.string() }) });

const WATCH = `subscription DemoSending($uid: String!) {
  campaignStatistics(uid: $uid) { subscriberCount openDeliveryCount sentCount failedCount }
}`;
const figures = z.object({
  campaignStatistics: z.object({
    subscriberCount: z.number(),
    openDeliveryCount: z.number(),
    sentCount: z.number(),
    failedCount: z.number(),
  }),
});

const STATUS = `query DemoStatus($uid: String!) {
  campaign(uid: $uid) { __typename ... on Campaign { status statusReason } ... on Error { message } }
}`;
const state = z.object({ campaign: z.object({ status: z.string(), statusReason: z.string().nullable() }) });

/** Sends to the whole list and resolves when the campaign is done. */
export async function sendCampaign(client: Client, listUid: string, people: number): Promise<SentCampaign> {
  const input = {
    listUid,
    name: 'The lamp is lit',
    subject: '{FIRST_NAME}, the lamp is lit again',
    fromName: 'The lighthouse keeper',
    fromEmail: 'keeper@lighthouse.example',
    html: HTML,
  };
  const { uid } = (await client.run(CREATE, { input }, created)).createCampaign;
  const startedAt = performance.now();
  await client.run(START, { uid }, startedCampaign);
  await watchToEnd(client, uid, people);
  return { uid, tookMs: performance.now() - startedAt };
}

async function watchToEnd(client: Client, uid: string, people: number): Promise<void> {
  const bar = progressBar('Campaign');
  const startedAt = performance.now();
  for await (const { campaignStatistics: now } of client.watch(WATCH, { uid }, figures)) {
    const perSecond = now.sentCount / ((performance.now() - startedAt) / 1_000);
    bar.show(now.sentCount / people, `${count(now.sentCount)} of ${count(people)} mails, ${count(perSecond)} a second`);
    if (now.openDeliveryCount === 0 && now.subscriberCount > 0 && (await isDone(client, uid))) break;
  }
  bar.end();
}

async function isDone(client: Client, uid: string): Promise<boolean> {
  const { status, statusReason } = (await client.run(STATUS, { uid }, state)).campaign;
  if (status === 'error' || status === 'paused')
    throw new DemoError(`The campaign is ${status}: ${statusReason ?? 'no reason given'}`);
  return status === 'done';
}
