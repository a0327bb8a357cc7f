/** What customers and administrators do in a day, over REST in both dialects and over GraphQL. */
import { setTimeout as sleep } from 'node:timers/promises';
import { download, graphql, type DayWorld } from './day-world.ts';

const PER_PAGE = 25;
const POLL_MS = 50;
const LAST_PAGE_MAX = 1_000_000;
const FILTERS = ['', '&open=yes', '&open=no', '&click=yes', '&click=no', '&open=yes&click=no'];
const RULES: readonly unknown[] = [
  { opened: {} },
  { opened: { inLastDays: 90 } },
  { clicked: {} },
  { received: {} },
  { tags: { hasAny: ['tag 1', 'TAG 5'] } },
  { field: { tag: 'CITY', text: { is: 'City 17' } } },
  { email: { contains: 'mail17.example' } },
];

export async function pagesRound(world: DayWorld): Promise<void> {
  const { product, lists } = world;
  const [large, campaign] = [lists.large.uid, lists.large.campaigns[0]];
  for (const route of ['/me', '/lists', `/lists/${large}`, '/campaigns', '/campaigns?page=2', `/campaigns/${campaign}`])
    await product.rest('GET', route);
  for (const route of ['/lists', '/campaigns', `/subscribers?list_uid=${large}`, `/lists/${large}/subscribers?page=7`])
    await download(world, route);
  const last = Math.max(1, Math.floor(lists.large.people / PER_PAGE));
  for (const filter of FILTERS)
    for (const page of [1, Math.ceil(last / 2), last, LAST_PAGE_MAX])
      await product.rest('GET', `/subscribers?list_uid=${large}${filter}&page=${page}`);
  for (const route of ['/subscribers?page=3', '/suppressions', '/suppressions?page=40', '/sending_servers', '/files'])
    await product.rest('GET', route);
  for (const route of ['/sending_domains', '/bounce_policy', '/bounce_handlers', `/lists/${large}/segments`])
    await product.rest('GET', route);
}

export async function graphqlRound(world: DayWorld): Promise<void> {
  const { large } = world.lists;
  const campaign = `"${large.campaigns[0]}"`;
  const person = `"${world.nextPerson().uid}"`;
  const figures = '{ openCount links { url } topLocations { country } topOpenSubscribers { openCount } }';
  for (const query of [
    '{ lists(last: 20) { ... on MailListConnection { edges { node { name counters { subscribed openers } statistics { subscriberCount } tags } } } } }',
    `{ campaigns(last: 20) { ... on CampaignConnection { edges { node { name status statusReason listName statistics ${figures} } } } } }`,
    `{ list(uid: "${large.uid}") { ... on MailList { subscribers(last: 25) { edges { node { email tags } } } imports(last: 5) { edges { node { status } } } } } }`,
    '{ subscribers(first: 50, opened: true) { ... on SubscriberConnection { edges { node { email list { name } } } } } }',
    `{ subscriber(subscriber: ${person}) { ... on Subscriber { email consentEvents { status at } } } }`,
    `{ campaign(uid: ${campaign}) { ... on Campaign { deliveries(first: 50, state: failed) { edges { node { email } } } sendTimes { at } testMessages { email } } } }`,
    `{ campaignLog(uid: ${campaign}, log: open, perPage: 1000) { ... on CampaignLogPage { cursor nodes } } }`,
    `{ campaignPreview(uid: ${campaign}, subscriber: ${person}) { __typename } }`,
    '{ auditEvents(first: 50, everybody: true) { ... on AuditEventConnection { edges { node { at client } } } } }',
    '{ auditEvents(first: 50) { ... on AuditEventConnection { edges { node { at client } } } } deletions { ... on DeletionsSuccess { nodes { name } } } mySubscription { ... on PlanSubscription { uid } } allowance { __typename } }',
    '{ customers(first: 25, keyword: "owner17") { ... on CustomerConnection { edges { node { name } } } } plansPage { ... on PlanPage { total } } }',
    '{ apiTokens(first: 20) { ... on ApiTokenConnection { edges { node { name } } } } installation { __typename } segmentsPage { ... on SegmentPage { total nodes { name } } } }',
  ])
    await graphql(world, query);
}

export async function peopleRound(world: DayWorld, round: number): Promise<void> {
  const { product, lists } = world;
  const list_uid = lists.large.uid;
  const [first, second, third] = [world.nextPerson(), world.nextPerson(), world.nextPerson()];
  await product.rest('GET', `/subscribers/email/${encodeURIComponent(first.email)}`);
  await product.rest('GET', `/subscribers/${first.id}`);
  await product.rest('PATCH', `/subscribers/${first.uid}`, { FIRST_NAME: `Name ${round}`, CITY: 'Springfield' });
  await product.rest('PATCH', `/subscribers/${first.uid}`, { EMAIL: `moved${round}@new.example` });
  await product.rest('POST', `/subscribers/${second.uid}/add-tag`, { tag: 'vip,new' });
  await product.rest('POST', `/subscribers/${second.uid}/remove-tag`, { tag: 'new' });
  await product.rest('PATCH', `/lists/${list_uid}/subscribers/${second.uid}/unsubscribe`);
  await product.rest('PATCH', `/lists/${list_uid}/subscribers/${second.uid}/subscribe`);
  const EMAIL = `added${round}@new.example`;
  await product.rest('POST', '/subscribers', { list_uid, EMAIL, FIRST_NAME: 'New', tag: 'vip' });
  await product.rest('DELETE', `/lists/${list_uid}/subscribers/${third.uid}/delete`);
  await product.rest('POST', '/suppressions', { email: `unwanted${round}@new.example`, reason: 'manual' });
  await product.rest('GET', `/suppressions?email=unwanted${round}@new.example`);
  await product.rest('DELETE', `/suppressions/unwanted${round}@new.example`);
}

export async function segmentsRound({ product, lists }: DayWorld, round: number): Promise<void> {
  for (const [no, rule] of RULES.entries()) {
    const name = `Segment ${no} of round ${round}`;
    const route = `/lists/${lists.large.uid}/segments`;
    const { segment_uid: uid } = await product.rest<{ segment_uid: string }>('POST', route, { name, rule });
    await product.rest('GET', `/segments/${uid}/count`);
    for (const page of [1, 50]) await product.rest('GET', `/segments/${uid}/subscribers?page=${page}`);
    await product.rest('PATCH', `/segments/${uid}`, { name: `${name} again`, rule });
    await product.rest('DELETE', `/segments/${uid}`);
  }
}

export async function customersRound(world: DayWorld, round: number): Promise<void> {
  const { product, customers } = world;
  const uid = customers[round % customers.length];
  for (const route of ['/customers', '/customers?page=30', '/customers?keyword=owner19', `/customers/${uid}`])
    await product.rest('GET', route);
  for (const route of [
    '/plans',
    '/subscriptions?page=3',
    `/subscriptions?customer_uid=${uid}`,
    '/invoices',
    '/payments',
  ])
    await product.rest('GET', route);
  const email = `owner-of-day${round}@new.example`;
  const person = { first_name: 'Day', last_name: `${round}`, timezone: 'UTC', language_id: 1, email };
  const { customer_uid: made } = await product.rest<{ customer_uid: string }>('POST', '/customers', {
    ...person,
    password: 'a long pass phrase',
  });
  const [plan] = await product.rest<{ uid: string }[]>('GET', '/plans');
  if (plan) await product.rest('POST', `/customers/${made}/assign-plan/${plan.uid}`);
  await product.rest('POST', '/user/login', { email, password: 'a long pass phrase' });
  await product.rest('GET', `/customers/by-email/${email}`);
  await product.rest('PATCH', `/customers/${made}`, { first_name: 'Night' });
  await product.rest('PATCH', `/customers/${made}/disable`);
  await product.rest('PATCH', `/customers/${made}/enable`);
  await product.rest('DELETE', `/customers/${made}`);
}

/** A person's data, and an erasure to its end. */
export async function rightsRound(world: DayWorld): Promise<void> {
  const { product } = world;
  const { email } = world.nextPerson();
  await product.rest('GET', `/subscribers/export?email=${encodeURIComponent(email)}`);
  const made = await product.rest<{ erasure_uid: string }>('POST', '/subscribers/erase', { email });
  for (let status = ''; status !== 'done'; await sleep(POLL_MS))
    ({ status } = (
      await product.rest<{ erasure: { status: string } }>('GET', `/erasures/${made.erasure_uid}`)
    ).erasure);
}

/** Downloads of a whole list and of whole logs. */
export async function downloads(world: DayWorld): Promise<void> {
  const { second, large } = world.lists;
  await download(world, `/lists/${second.uid}/export`);
  for (const log of ['tracking', 'open', 'click', 'bounce', 'feedback', 'unsubscribe'])
    await download(world, `/campaigns/${second.campaigns[0]}/${log}-log/download`);
  await graphql(world, `{ campaignLedger(uid: "${large.campaigns[1]}") { __typename } }`);
}
