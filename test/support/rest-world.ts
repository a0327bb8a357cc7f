/**
 * What the tests that walk every REST row need to know of the world: tenants that own one of everything, and right values
 * by the name of a parameter. A new noun teaches it here, in one place.
 */
import { randomBytes } from 'node:crypto';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { REMOTE_PLAN } from './remote-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid, subscriberUid } from '../../src/lib/ids.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import type { RowParameter } from '../../src/rest-facade/row-parameters.ts';
import type { RestApp, RestTenant } from './rest-app.ts';
import { addPackages, addPlugin, OFFERED_PLUGIN, PLUGIN_WITH_SETTINGS, WORLDS_PLUGIN } from './world-plugins.ts';
import { insertAccess } from './insert-access.ts';
import { insertBounceHandler } from './insert-bounce-handler.ts';
import { insertDomain } from './insert-domain.ts';
import { insertMails, mailValues } from './insert-transactional.ts';
import { stageRelease } from './staged-release.ts';
import { insertTemplate } from './insert-template.ts';
import { automationValues, insertAutomation } from './insert-automation.ts';
import { eventValues } from './event-values.ts';
import { insertWebhook, webhookValues, type WebhookUids } from './insert-webhook.ts';
import { insertVendorServer, senderValues } from './insert-vendor-server.ts';
import { insertMoney, type MoneyUids } from './insert-money.ts';
import { insertVerification, WORLDS_VERIFIER } from './insert-verification.ts';
import { sentMessage } from './sent-message.ts';

export interface World extends RestTenant, MoneyUids, WebhookUids {
  readonly customerUid: string;
  readonly userUid: string;
  readonly listUid: string;
  readonly subscriberUid: string;
  readonly subscriberEmail: string;
  readonly campaignUid: string;
  readonly serverUid: string;
  /** Of a type that shows the senders of its account; not active. */
  readonly vendorServerUid: string;
  readonly vendorRequestUid: string;
  readonly domainUid: string;
  readonly importUid: string;
  readonly segmentUid: string;
  readonly templateUid: string;
  readonly automationUid: string;
  readonly runUid: string;
  readonly flowTestUid: string;
  /** Its upload is under way. */
  readonly fileUid: string;
  /** A picture that is there. */
  readonly pictureUid: string;
  readonly pictureUrl: string;
  /** Of the campaign. */
  readonly attachmentUid: string;
  readonly suppressedEmail: string;
  readonly erasureUid: string;
  readonly messageUid: string;
  /** It waits for its time. */
  readonly transactionalUid: string;
  /** Of a message that was handed over. */
  readonly messageId: string;
  /** Made by hand, and not the one that asks. */
  readonly apiTokenUid: string;
  readonly fromAddressUid: string;
  readonly bounceHandlerUid: string;
  readonly verificationServerUid: string;
  /** Of another list, and paused. */
  readonly verificationUid: string;
  /** Of a plugin whose upload is under way. */
  readonly packageUid: string;
  /** The next one of a staged version. */
  readonly migration: string;
  /** A working mailbox. */
  readonly mailbox: Readonly<Record<string, unknown>>;
  /** One of the second factor, where the row needs one. */
  readonly code?: string;
  /** A working SMTP server's settings. */
  readonly smtp: Readonly<Record<string, unknown>>;
}

/** A tenant with one of everything. */
export async function newWorld(app: RestApp, smtp: World['smtp']): Promise<World> {
  await addPlugin(app);
  const packageUid = await addPackages(app);
  const migration = stageRelease(app);
  const tenant = await app.newTenant();
  const { db } = app.ctx;
  const uids = {
    list: newUid(),
    campaign: newUid(),
    server: newUid(),
    domain: newUid(),
    import: newUid(),
    file: newUid(),
    picture: newUid(),
    attachment: newUid(),
    segment: newUid(),
  };
  const subscriberEmail = `${newUid()}@person.example`;
  const owner = tenant.customerId;
  const [list] = await queryRows<{ id: bigint }>(
    db,
    sql`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name, public_signup)
    VALUES (${owner}, ${uids.list}, 'List', 'Subject', 'list@sender.example', 'Sender', true) RETURNING id`,
  );
  const listId = list?.id ?? 0n;
  const [customer] = await queryRows<{ uid: string; userUid: string }>(
    db,
    sql`SELECT c.uid, u.uid AS "userUid" FROM customer c JOIN app_user u ON u.customer_id = c.id WHERE c.id = ${owner}`,
  );
  await db.execute(
    sql`INSERT INTO hot.list_counter (customer_id, list_id) VALUES (${owner}, ${listId}) ON CONFLICT DO NOTHING`,
  );
  await db.execute(
    sql`INSERT INTO list_contact (customer_id, list_id, company, address_1, country_id, email) VALUES (${owner}, ${listId}, 'Company', '1 High St', 1, 'office@sender.example')`,
  );
  await db.execute(
    sql`INSERT INTO list_field (customer_id, uid, list_id, type, label, tag) VALUES (${owner}, ${newUid()}, ${listId}, 'text', 'First name', 'FIRST_NAME')`,
  );
  const [subscriber] = await queryRows<{ id: bigint }>(
    db,
    sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    VALUES (${owner}, ${listId}, ${subscriberEmail}, ${subscriberEmail}, 'subscribed', '{}') RETURNING id`,
  );
  await db.execute(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, subject, from_email, from_name, html, status)
    VALUES (${owner}, ${uids.campaign}, ${listId}, 'Campaign', 'Subject', 'news@sender.example', 'Sender', '<p>Hello</p>', 'ready')`);
  await db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, status, default_from_email)
    VALUES (${owner}, ${uids.server}, 'Server', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port: smtp['port'], encryption: 'none' })}::jsonb, 'active', 'valid@sender.example')`);
  await insertDomain(app, owner, uids.domain);
  await db.execute(sql`
    INSERT INTO segment (customer_id, uid, list_id, name, rule) VALUES (${owner}, ${uids.segment}, ${listId}, 'Segment', '{"email": {"contains": "@"}}')`);
  await db.execute(sql`
    INSERT INTO mail_list_import (customer_id, uid, list_id, file_name, status) VALUES (${owner}, ${uids.import}, ${listId}, 'people.csv', 'queued')`);
  const [suppressedEmail, erasureUid] = [`${newUid()}@suppressed.example`, newUid()];
  await db.execute(sql`
    WITH s AS (INSERT INTO suppression (customer_id, email_key, reason) VALUES (${owner}, ${suppressedEmail}, 'manual'))
    INSERT INTO erasure (customer_id, uid, status, subscriber_ids) VALUES (${owner}, ${erasureUid}, 'done', '{}')`);
  const sent = { customerId: owner, listId, subscriberId: subscriber?.id ?? 0n };
  const { messageId } = await sentMessage(app.ctx, sent);
  await db.execute(sql`
    WITH f AS (INSERT INTO uploaded_file (customer_id, uid, token, name, path)
               VALUES (${owner}, ${uids.file}, ${newUid()}, 'logo.png', 'logo.png') RETURNING customer_id, id)
    INSERT INTO file_piece (customer_id, file_id, no, bytes) SELECT customer_id, id, 0, '\\x89504e47' FROM f`);

  const pictureToken = randomBytes(16).toString('hex');
  await db.execute(sql`
    WITH f AS (INSERT INTO uploaded_file (customer_id, uid, token, name, path, status, content_type, size_bytes)
               VALUES (${owner}, ${uids.picture}, ${pictureToken}, 'picture.png', 'picture.png', 'ready', 'image/png', 4) RETURNING customer_id, id),
         p AS (INSERT INTO file_piece (customer_id, file_id, no, bytes) SELECT customer_id, id, 0, '\\x89504e47' FROM f)
    INSERT INTO campaign_attachment (customer_id, uid, campaign_id, file_id, name)
    SELECT c.customer_id, ${uids.attachment}, c.id, f.id, 'attached.png' FROM f JOIN campaign c ON c.customer_id = f.customer_id AND c.uid = ${uids.campaign}`);
  return {
    ...tenant,
    ...(await insertMoney(db, owner)),
    ...(await insertAccess(app, owner)),
    ...(await insertBounceHandler(app, owner)),
    ...(await insertVerification(app, owner)),
    ...(await insertTemplate(app, owner)),
    ...(await insertAutomation(app, { customerId: owner, listId, personId: sent.subscriberId })),
    ...(await insertWebhook(app, owner)),
    ...(await insertVendorServer(app, owner)),
    packageUid,
    migration,
    messageId,
    suppressedEmail,
    erasureUid,
    ...(await insertMails(db, { customerId: owner, listId, id: sent.subscriberId }, subscriberEmail)),
    customerUid: customer?.uid ?? '',
    userUid: customer?.userUid ?? '',
    listUid: uids.list,
    subscriberUid: subscriberUid(subscriber?.id ?? 0n),
    subscriberEmail,
    campaignUid: uids.campaign,
    serverUid: uids.server,
    domainUid: uids.domain,
    importUid: uids.import,
    segmentUid: uids.segment,
    fileUid: uids.file,
    pictureUid: uids.picture,
    pictureUrl: `${app.baseUrl}/files/${pictureToken}/picture.png`,
    attachmentUid: uids.attachment,
    smtp,
  };
}

/** Fills the path's parameters with what this world owns. Fails for a noun that it does not know. */
export function pathIn(world: World, path: string): string {
  return path
    .replace('/me/plugins/:vendor/:name', `/me/plugins/${OFFERED_PLUGIN}`)
    .replace('/:vendor/:name/settings', `/${PLUGIN_WITH_SETTINGS}/settings`)
    .replace('/:vendor/:name', `/${WORLDS_PLUGIN}`)
    .replace('/:uid/identities', `/${world.vendorServerUid}/identities`)
    .replace(
      /\/([\w-]+)\/:(\w+)/g,
      (_, before: string, name: string) => `/${before}/${encodeURIComponent(slot(world, before, name))}`,
    );
}

function slot(world: World, before: string, name: string): string {
  const owned: Readonly<Record<string, string>> = {
    lists: world.listUid,
    subscribers: world.subscriberUid,
    email: world.subscriberEmail,
    campaigns: world.campaignUid,
    sending_servers: world.serverUid,
    bounce_handlers: world.bounceHandlerUid,
    email_verification_servers: world.verificationServerUid,
    verifications: world.verificationUid,
    sending_domains: world.domainUid,
    imports: world.importUid,
    segments: world.segmentUid,
    // A field is named by its tag, too.
    fields: 'FIRST_NAME',
    files: world.fileUid,
    attachments: world.attachmentUid,
    templates: name === 'kind' ? 'welcome' : world.templateUid,
    built_in_templates: 'welcome',
    ready_made_flows: 'welcome_series',
    automations: world.automationUid,
    runs: world.runUid,
    tests: world.flowTestUid,
    suppressions: world.suppressedEmail,
    erasures: world.erasureUid,
    messages: world.messageUid,
    transactional: world.transactionalUid,
    customers: world.customerUid,
    plans: world.planUid,
    'assign-plan': world.planUid,
    'change-plan': world.planUid,
    subscriptions: world.subscriptionUid,
    invoices: world.invoiceUid,
    payments: world.paymentUid,
    payment_gateways: world.gatewayUid,
    ...{ webhooks: world.webhookUid, deliveries: world.webhookDeliveryUid },
    vendor_requests: world.vendorRequestUid,
    payment_methods: world.methodUid,
    packages: world.packageUid,
    'by-email': world.email,
    api_tokens: world.apiTokenUid,
    from_addresses: world.fromAddressUid,
  };
  const value = owned[before];
  if (value === undefined)
    throw new Error(`test/support/rest-world.ts does not know what ":${name}" after "/${before}" is: teach it.`);
  return value;
}

/** A right value for this parameter of this row. */
export function rightValue(row: Row, { names, kind }: RowParameter, world: World): unknown {
  const name = names[0] ?? '';
  const known = rightValues(row, world)[name];
  if (known !== undefined) return known;
  return {
    text: 'Some text',
    integer: 1,
    flag: 1,
    time: '2030-01-31 08:00:00',
    object: {},
    file: undefined,
    any: 'Some text',
  }[kind];
}

function typeOf(path: string): string {
  if (path.startsWith('/notification')) return 'bounced';
  if (path.endsWith('/download')) return 'csv';
  if (path.includes('verification_servers')) return WORLDS_VERIFIER;
  if (path.includes('payment_gateways')) return 'offline';
  return path.includes('sending_servers') ? 'smtp' : /add-field|fields/.test(path) ? 'dropdown' : 'regular';
}

/** Of plans and subscriptions. */
function optionsFor(path: string): unknown {
  if (path.startsWith('/lists')) return 'Graz,Vienna';
  // A form of this test cannot nest twice.
  return path === '/customers/:uid' ? { list_max: '10' } : { list_max: '10', sending_server_types: { smtp: 'yes' } };
}

function moneyValues(path: string): Readonly<Record<string, unknown>> {
  return {
    currency_id: 49,
    currency_code: 'EUR',
    price: '9.99',
    frequency_amount: 1,
    frequency_unit: 'month',
    color: '#336699',
    options: optionsFor(path),
    disable_billing: 0,
    current_period_ends_at: path.includes('subscription') ? '2040-01-31 08:00:00' : undefined,
    ends_at: '2045-01-31 08:00:00',
    payment_status: 'FAILED',
  };
}

function rightValues(row: Row, world: World): Readonly<Record<string, unknown>> {
  const { path } = row;
  const type = typeOf(path);
  const email = path === '/user/login' || path === '/login-token' ? world.email : `${newUid()}@person.example`;
  return {
    type,
    email,
    EMAIL: email,
    // A new one has to differ from the one before.
    password: path === '/customers/:uid' ? `${newUid()} of spring` : world.password,
    customer_uid: path === '/audit_events' ? '' : world.customerUid,
    plan_uid: world.planUid,
    ...moneyValues(path),
    timezone: 'Europe/Vienna',
    to: 'reader@person.example',
    ...{ from_email: 'valid@sender.example', default_from_email: 'valid@sender.example' },
    reply_to: 'reply@sender.example',
    html: '<p>Hello {EMAIL}, <a href="https://shop.example/">look</a></p>',
    ...{ list_uid: world.listUid, campaign_uid: world.campaignUid },
    signup_captcha: 'flood',
    segment_uid: world.segmentUid,
    ...{ template_uid: '', kind: path.endsWith('/timeline') ? 'tagged,added' : 'marketing' },
    ...{ data: {}, sort: 'name', direction: 'desc' },
    ...{ 'created_at[from]': '2020-01-31 08:00:00', 'created_at[to]': '2040-01-31 08:00:00' },
    ...{ file_uid: world.pictureUid, inline: 0 },
    ...webhookValues(path),
    ...automationValues(path),
    subscriber: world.subscriberUid,
    ...eventValues(path),
    emails: [`${newUid()}@person.example`],
    ip_address: '192.0.2.1',
    rule: { email: { contains: 'person' } },
    'contact[country_id]': 1,
    'contact[email]': 'office@sender.example',
    'contact[url]': 'https://sender.example/',
    tag: path.includes('add-field') ? `TAG_${newUid()}` : path.includes('/fields/') ? 'first_name' : 'vip,new',
    settings: /verification_servers|payment_gateways/.test(path) ? {} : world.smtp,
    email_verification_servers: '',
    ...{ gateway_uid: world.gatewayUid, remote_plan_id: REMOTE_PLAN },
    ...{ verification_server: world.verificationServerUid, undeliverable: 'suppress' },
    ...(path.startsWith('/bounce_handlers') ? world.mailbox : {}),
    ...{ soft_bounce_limit: 3, soft_bounce_days: 14, quota_value: 1000, quota_unit: 'hour' },
    // What everybody else in the world can live with.
    ...{ maintenance: 0, session_idle_days: 20, session_days_max: 60, from_addresses: 'any', events_per_day: 1000 },
    ...{ bounce_pause_percent: 90, bounce_pause_recipients: 500, mail_from: 'no-reply@mail.example' },
    ...{ billing_grace_days: 10, offline_payment_instructions: 'By transfer to our account.', keep_events_months: 24 },
    domain_limits: { 'gmail.com': 2000, '*': 10_000 },
    warm_up: { kind: 'linear', start: 50, step: 50, goal: 5_000 },
    // A plan names servers of the system; the world's is its own.
    sending_servers: path.startsWith('/plans') ? '' : [{ uid: world.serverUid, weight: 2 }],
    ...{ scopes: ['lists:read'], rest_dialect: 'classic', expires_at: '2040-01-31 08:00:00' },
    ...{ after: path.endsWith('/resend') ? world.webhookDeliveryUid : '', everybody: 0, keep_data: 0 },
    code: world.code,
    quiet_hours: { from: '21:00', to: '08:00', timezone: 'Europe/Vienna' },
    'quiet_hours[from]': '21:00',
    'quiet_hours[to]': '08:00',
    'quiet_hours[timezone]': 'Europe/Vienna',
    frequency_cap: { messages: 100, days: 1, hold_days: 2 },
    ...{ 'frequency_cap[messages]': 100, 'frequency_cap[days]': 1, 'frequency_cap[hold_days]': 2 },
    ...{ timezone_tag: 'FIRST_NAME', language: 'de', logo: world.pictureUid, color: '#1F4FD8' },
    default_value: 'Graz',
    ...{ local_time: '09:00', plugin_template: '' },
    status: /sending_servers|verification_servers|bounce_handlers|plans|payment_gateways|automations|webhooks/.test(
      path,
    )
      ? 'active'
      : 'subscribed',
    ...(path.endsWith('/dry_run') ? { segment_uid: '', from: '' } : {}),
    page: path === '/extension_slots' ? 'sidebar' : 1,
    slot: 'menu-items',
    ...(path === '/segment_conditions' ? { language: 'en' } : {}),
    ...(path.startsWith('/plugins/') ? { for: 'customer', values: { greeting: 'Good morning' }, language: 'en' } : {}),
    per_page: 10,
    open: 'yes',
    click: 'no',
    verification: 'unverified',
    mapping: {},
    next: '/inbox',
    // A form has files already, and takes no addresses beside them.
    files: row.takesFile ? '' : JSON.stringify([{ url: world.pictureUrl }]),
    migration: world.migration,
    ...(path === '/upgrade/run'
      ? { url: 'https://releases.example/9.0.0.tgz', sha256: 'a'.repeat(64), signature: `${'A'.repeat(86)}==` }
      : {}),
    ...(path === '/plugins/install' ? { url: '', sha256: '', signature: '' } : {}),
    image: row.takesFile ? '' : world.pictureUid,
    current_password: world.password,
    subdirectory: 'images',
    message_id: world.messageId,
    bounced_type: 'hard',
    everywhere: 0,
    reason: 'manual',
    homepage: '',
    ...senderValues(path),
    ...(path.startsWith('/vendor_requests') && { sending_server_uid: world.vendorServerUid }),
    return_path_subdomain: 'back',
    tracking_subdomain: 'go',
    ...mailValues(row, world),
  };
}
