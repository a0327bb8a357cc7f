/**
 * Every endpoint of the contract, written down by hand from its specification (section numbers beside them) and from the
 * decisions about it: nothing here is read from the code. The test beside it compares this table with the rows and with
 * the OpenAPI document, in both directions, and plays every line.
 */
import { automationExtensions, automations } from './contract-of-automations.ts';
import { mailLines } from './contract-mails.ts';
import { action, array, csv, index, object, section, type ContractLine } from './contract-line.ts';

const subscriber = action('subscriber_uid', 'subscriber_id');
const unsubscribed = action('subscriber_uid', 'subscriber_id', 'list_uids');
const campaign = action('campaign_uid', 'campaign');
const subscription = action('subscription_uid', 'subscription');
/** Decision D35: what is to be paid, and where. */
const due = ['invoice_uid', 'amount_due', 'currency_code', 'checkout_url'];

const user = object(
  ...['id', 'uid', 'email', 'first_name', 'last_name', 'timezone', 'image'],
  ...['status', 'is_admin', 'customer', 'created_at'],
);

const session = section(
  '4.1',
  ['POST', '/user/login', 'public', 200, action('token', 'api_token', 'user')],
  [...(['GET', '/me', 'token', 200] as const), user],
  ['POST', '/login-token', 'token', 200, object('token', 'url')],
);

const lists = section(
  '4.2',
  ['GET', '/lists', 'token', 200, index],
  ['POST', '/lists', 'token', 201, action('list_uid')],
  ['GET', '/lists/:uid', 'token', 200, object('list', 'contact', 'statistics')],
  ['PATCH', '/lists/:uid', 'token', 200, action('list_uid')],
  ['POST', '/lists/:uid/add-field', 'token', 201, action('field')],
  ['GET', '/lists/:uid/add-field', 'token', 200, action('field')],
  ['DELETE', '/lists/:uid', 'token', 200, action('list_uid')],
);

const subscribers = section(
  '4.3',
  ['GET', '/subscribers', 'token', 200, index],
  ['POST', '/subscribers', 'token', 201, subscriber],
  ['GET', '/subscribers/:id', 'token', 200, object('subscriber')],
  ['GET', '/subscribers/email/:email', 'token', 200, object('subscribers')],
  ['PATCH', '/subscribers/:id', 'token', 200, subscriber],
  ['POST', '/subscribers/:id/add-tag', 'token', 200, action('subscriber_uid', 'subscriber_id', 'tags')],
  ['POST', '/subscribers/:id/remove-tag', 'token', 200, action('subscriber_uid', 'subscriber_id', 'tags')],
  ['PATCH', '/lists/:list_uid/subscribers/:id/subscribe', 'token', 200, subscriber],
  ['PATCH', '/lists/:list_uid/subscribers/:id/unsubscribe', 'token', 200, unsubscribed],
  ['PATCH', '/lists/:list_uid/subscribers/email/:email/unsubscribe', 'token', 200, unsubscribed],
  ['DELETE', '/subscribers/:id', 'token', 200, subscriber],
);

const campaigns = section(
  '4.4',
  ['GET', '/campaigns', 'token', 200, index],
  ['POST', '/campaigns', 'token', 201, action('campaign_uid', 'attributes', 'warnings', 'campaign')],
  ['GET', '/campaigns/:uid', 'token', 200, object('campaign', 'statistics')],
  ['PATCH', '/campaigns/:uid', 'token', 200, action('campaign_uid', 'warnings', 'campaign')],
  ['POST', '/campaigns/:uid/run', 'token', 200, campaign],
  ['POST', '/campaigns/:uid/pause', 'token', 200, campaign],
  ['GET', '/campaigns/:uid/pause', 'token', 200, campaign],
  ['POST', '/campaigns/:uid/resume', 'token', 200, campaign],
  ['GET', '/campaigns/:uid/tracking-log/download', 'token', 200, csv],
  ['GET', '/campaigns/:uid/open-log/download', 'token', 200, csv],
  ['GET', '/campaigns/:uid/click-log/download', 'token', 200, csv],
  ['GET', '/campaigns/:uid/bounce-log/download', 'token', 200, csv],
  ['GET', '/campaigns/:uid/feedback-log/download', 'token', 200, csv],
  ['GET', '/campaigns/:uid/unsubscribe-log/download', 'token', 200, csv],
  ['DELETE', '/campaigns/:uid', 'token', 200, action('campaign_uid')],
);

const sendingServers = section(
  '4.6',
  ['GET', '/sending_servers', 'token', 200, index],
  ['POST', '/sending_servers', 'token', 201, action('sending_server_uid', 'sending_server')],
  ['GET', '/sending_servers/:uid', 'token', 200, object('sending_server')],
  ['PATCH', '/sending_servers/:uid', 'token', 200, action('sending_server_uid', 'sending_server')],
  ['POST', '/sending_servers/:uid/reset_health', 'token', 200, action('sending_server_uid', 'sending_server')],
  ['POST', '/sending_servers/:uid/test', 'token', 200, action('sending_server_uid', 'test')],
  ['GET', '/sending_servers/:uid/identities', 'token', 200, object('identities')],
  ['POST', '/sending_servers/:uid/identities', 'token', 200, action('identity')],
  ['POST', '/sending_servers/:uid/identities/check', 'token', 200, action('identity')],
  ['DELETE', '/sending_servers/:uid', 'token', 200, action('sending_server_uid')],
);

const customers = section(
  '4.7',
  ['GET', '/customers', 'admin', 200, index],
  ['POST', '/customers', 'admin', 201, action('customer_uid', 'api_token', 'customer')],
  ['GET', '/customers/:uid', 'admin', 200, object('customer')],
  ['GET', '/customers/by-email/:email', 'admin', 200, object('customer')],
  ['PATCH', '/customers/:uid', 'admin', 200, object('customer')],
  ['PATCH', '/customers/:uid/enable', 'admin', 200, action('customer_uid')],
  ['PATCH', '/customers/:uid/disable', 'admin', 200, action('customer_uid')],
  [
    ...(['POST', '/customers/:uid/change-plan/:plan_uid', 'admin', 200] as const),
    action('customer_uid', 'subscription_uid', 'subscription', 'plan_uid', ...due),
  ],
  [
    ...(['POST', '/customers/:uid/assign-plan/:plan_uid', 'admin', 200] as const),
    action('customer_uid', 'subscription_uid', 'subscription', 'plan_uid'),
  ],
  [
    ...(['POST', '/customers/:uid/subscription/update', 'admin', 200] as const),
    action('customer_uid', 'subscription_uid', 'subscription'),
  ],
);

const subscriptions = section(
  '4.8',
  ['GET', '/subscriptions', 'admin', 200, index],
  ['POST', '/subscriptions', 'admin', 201, action('subscription_uid', 'subscription', ...due)],
  ['GET', '/subscriptions/:uid', 'admin', 200, object('subscription')],
  ['PATCH', '/subscriptions/:uid', 'admin', 200, subscription],
);

const plans = section(
  '4.9 (D33)',
  ['GET', '/plans', 'token', 200, array],
  ['POST', '/plans', 'admin', 201, action('plan_uid', 'plan')],
);

const files = section(
  '4.10',
  [
    ...(['POST', '/file/upload', 'token', 201] as const),
    { kind: 'one of', choices: [action('url', 'file_uid'), action('url', 'file_uid', 'files'), array] },
  ],
  ['GET', '/file/upload', 'token', 200, array],
);

const notifications = section('4.12', ['GET', '/notifications', 'token', 200, action()]);

const installation = section('9', ['GET', '/', 'public', 200, object('name', 'version', 'base_url', 'api_url')]);

/** The specification, section by section. */
export const specified: readonly ContractLine[] = [
  ...[session, lists, subscribers, campaigns, automations, sendingServers, customers],
  ...[subscriptions, plans, files, notifications, installation],
].flat();

/** What decisions add for clients that exist, or because something would be missing. */
export const decided: readonly ContractLine[] = [
  ...section(
    'D10',
    ['GET', '/lists/:list_uid/subscribers', 'token', 200, index],
    ['POST', '/lists/:list_uid/subscribers', 'token', 201, subscriber],
    ['POST', '/lists/:list_uid/subscribers/store', 'token', 201, subscriber],
    ['GET', '/lists/:list_uid/subscribers/:id', 'token', 200, object('subscriber')],
    ['PATCH', '/lists/:list_uid/subscribers/:id/update', 'token', 200, subscriber],
    ['DELETE', '/lists/:list_uid/subscribers/:id/delete', 'token', 200, subscriber],
    ['PATCH', '/subscribers/:id/subscribe', 'token', 200, subscriber],
    ['PATCH', '/subscribers/:id/unsubscribe', 'token', 200, unsubscribed],
    ['PATCH', '/subscribers/email/:email/unsubscribe', 'token', 200, unsubscribed],
    ['POST', '/campaigns/:uid/send', 'token', 200, campaign],
    ['GET', '/notification/bounce', 'token', 200, action()],
    ['POST', '/notification/bounce', 'token', 200, action()],
    ['GET', '/notification/feedback', 'token', 200, action()],
    ['POST', '/notification/feedback', 'token', 200, action()],
    ['GET', '/public/lists/:list_uid/captcha', 'public', 200, object('parameters', 'signature')],
    ['POST', '/public/subscribers', 'public', 200, action()],
  ),
  ...section('D15', ['GET', '/countries', 'token', 200, array]),
  ...section(
    'D82',
    ['GET', '/frequency_cap', 'token', 200, object('frequency_cap')],
    ['PATCH', '/frequency_cap', 'token', 200, action('frequency_cap')],
  ),
  ...section(
    'D58',
    ['PATCH', '/lists/:list_uid/fields/:uid', 'token', 200, action('field')],
    ['DELETE', '/lists/:list_uid/fields/:uid', 'token', 200, action('field_uid')],
  ),
  ...section('D61', ['GET', '/languages', 'token', 200, array], ['PATCH', '/me', 'token', 200, user]),
  ...section('D32', ['DELETE', '/customers/:uid', 'admin', 200, action('customer_uid')]),
  ...section(
    'D33',
    ['GET', '/plans/:uid', 'token', 200, object('plan')],
    ['PATCH', '/plans/:uid', 'admin', 200, action('plan_uid', 'plan')],
    ['DELETE', '/plans/:uid', 'admin', 200, action('plan_uid')],
  ),
  ...section(
    'D36',
    ['POST', '/subscriptions/:uid/activate', 'admin', 200, subscription],
    ['POST', '/subscriptions/:uid/cancel', 'admin', 200, subscription],
    ['POST', '/subscriptions/:uid/terminate', 'admin', 200, subscription],
  ),
  ...section('D41', ['POST', '/notifications', 'token', 200, action()]),
  ...section(
    'D47',
    ['POST', '/lists/:list_uid/import', 'token', 201, action('import_uid', 'import')],
    ['GET', '/lists/:list_uid/imports/:import_uid', 'token', 200, object('import')],
    ['DELETE', '/lists/:list_uid/imports/:import_uid', 'token', 200, action('import_uid')],
    ['GET', '/lists/:list_uid/imports/:import_uid/rejected', 'token', 200, csv],
    ['GET', '/lists/:uid/export', 'token', 200, csv],
  ),
];

/** Ours, and in neither: what the product has and REST clients may want. */
export const extensions: readonly ContractLine[] = [
  ...section('timeline', ['GET', '/subscribers/:id/timeline', 'token', 200, object('timeline', 'next')]),
  ...section(
    'files',
    ['GET', '/files', 'token', 200, index],
    ['DELETE', '/files/:uid', 'token', 200, action('file_uid')],
  ),
  ...section(
    'messages of campaigns',
    ['GET', '/campaigns/:uid/attachments', 'token', 200, object('attachments')],
    ['POST', '/campaigns/:uid/attachments', 'token', 201, action('campaign_uid', 'attachment_uid', 'attachment')],
    ['DELETE', '/campaigns/:uid/attachments/:attachment_uid', 'token', 200, action('campaign_uid')],
    ['GET', '/campaigns/:uid/preview', 'token', 200, object('preview')],
    ['POST', '/campaigns/preview', 'token', 200, object('preview')],
    ['POST', '/campaigns/:uid/test', 'token', 201, action('campaign_uid', 'tests')],
    ['GET', '/campaigns/:uid/tests', 'token', 200, object('tests')],
    ['POST', '/campaigns/:uid/dry_run', 'token', 201, action('campaign_uid', 'dry_run')],
    ['GET', '/campaigns/:uid/dry_run', 'token', 200, object('dry_run')],
    ['DELETE', '/campaigns/:uid/dry_run', 'token', 200, action('campaign_uid', 'dry_run')],
  ),
  ...section(
    'mails of a list',
    ['GET', '/lists/:uid/templates', 'token', 200, object('templates')],
    ['PATCH', '/lists/:uid/templates/:kind', 'token', 200, action('template')],
    ['DELETE', '/lists/:uid/templates/:kind', 'token', 200, action('template')],
    ['POST', '/lists/:uid/templates/:kind/preview', 'token', 200, object('preview')],
  ),
  ...section(
    'the rights of a person',
    ['GET', '/subscribers/export', 'token', 200, { kind: 'json download' }],
    ['POST', '/subscribers/erase', 'token', 200, action('erasure_uid', 'erasure')],
    ['GET', '/erasures/:uid', 'token', 200, object('erasure')],
    ['GET', '/suppressions', 'token', 200, index],
    ['POST', '/suppressions', 'token', 201, action('added')],
    ['DELETE', '/suppressions/:email', 'token', 200, action()],
    ['POST', '/events', 'token', 201, action('recorded', 'events')],
    ['GET', '/messages', 'token', 200, index],
    ['GET', '/messages/:uid', 'token', 200, object('message')],
    ['POST', '/messages/:uid/decide', 'token', 200, object('message')],
  ),
  ...section(
    'sending domains',
    ['GET', '/sending_domains', 'token', 200, index],
    ['POST', '/sending_domains', 'token', 201, action('sending_domain_uid', 'sending_domain')],
    ['GET', '/sending_domains/:uid', 'token', 200, object('sending_domain')],
    ['PATCH', '/sending_domains/:uid', 'token', 200, action('sending_domain_uid', 'sending_domain')],
    ['POST', '/sending_domains/:uid/verify', 'token', 200, action('sending_domain_uid', 'sending_domain')],
    ['POST', '/sending_domains/:uid/rotate', 'token', 200, action('sending_domain_uid', 'sending_domain')],
    ['DELETE', '/sending_domains/:uid', 'token', 200, action('sending_domain_uid')],
  ),
  ...section(
    'segments',
    ['GET', '/lists/:list_uid/segments', 'token', 200, index],
    ['POST', '/lists/:list_uid/segments', 'token', 201, action('segment_uid', 'segment')],
    ['GET', '/segment_conditions', 'token', 200, array],
    ['GET', '/segments/:uid', 'token', 200, object('segment')],
    ['PATCH', '/segments/:uid', 'token', 200, action('segment_uid', 'segment')],
    ['DELETE', '/segments/:uid', 'token', 200, action('segment_uid')],
    ['GET', '/segments/:uid/count', 'token', 200, object('segment_uid', 'count', 'counted_at')],
    ['GET', '/segments/:uid/subscribers', 'token', 200, index],
  ),
  ...automationExtensions,
  ...mailLines,
  ...section(
    'bounces',
    ['GET', '/bounce_handlers', 'token', 200, index],
    ['POST', '/bounce_handlers', 'token', 201, action('bounce_handler_uid', 'bounce_handler')],
    ['GET', '/bounce_handlers/:uid', 'token', 200, object('bounce_handler')],
    ['PATCH', '/bounce_handlers/:uid', 'token', 200, action('bounce_handler_uid', 'bounce_handler')],
    ['DELETE', '/bounce_handlers/:uid', 'token', 200, action('bounce_handler_uid')],
    ['POST', '/bounce_handlers/:uid/test', 'token', 200, action('bounce_handler_uid', 'message_count')],
    ['GET', '/bounce_policy', 'token', 200, object('bounce_policy')],
    ['PATCH', '/bounce_policy', 'token', 200, action('bounce_policy')],
  ),
  ...section(
    'API tokens, two-factor login and the audit trail',
    ['GET', '/api_tokens', 'token', 200, object('api_tokens', 'next')],
    ['POST', '/api_tokens', 'token', 201, action('api_token_uid', 'token', 'api_token')],
    ['POST', '/api_tokens/:uid/rotate', 'token', 200, action('api_token_uid', 'token', 'api_token')],
    ['DELETE', '/api_tokens/:uid', 'token', 200, action('api_token_uid')],
    ['POST', '/two_factor', 'token', 200, action('secret', 'uri')],
    ['POST', '/two_factor/confirm', 'token', 200, action('recovery_codes')],
    ['POST', '/two_factor/recovery_codes', 'token', 200, action('recovery_codes')],
    ['DELETE', '/two_factor', 'token', 200, action()],
    ['GET', '/audit_events', 'token', 200, object('audit_events', 'next')],
  ),
  ...section(
    'who sends, and for which From addresses',
    ['GET', '/sending_routes', 'token', 200, object('sending_servers')],
    ['PATCH', '/sending_routes', 'token', 200, action('sending_servers')],
    ['PATCH', '/plans/:uid/sending_routes', 'admin', 200, action('plan_uid')],
    ['GET', '/from_addresses', 'token', 200, object('from_addresses', 'next')],
    ['POST', '/from_addresses', 'token', 200, action('from_address_uid', 'from_address')],
    ['DELETE', '/from_addresses/:uid', 'token', 200, action('from_address_uid')],
  ),
  ...section(
    'email verification',
    ['GET', '/email_verification_servers', 'token', 200, index],
    [
      ...(['POST', '/email_verification_servers', 'token', 201] as const),
      action('email_verification_server_uid', 'email_verification_server'),
    ],
    ['GET', '/email_verification_servers/:uid', 'token', 200, object('email_verification_server')],
    [
      ...(['PATCH', '/email_verification_servers/:uid', 'token', 200] as const),
      action('email_verification_server_uid', 'email_verification_server'),
    ],
    ['DELETE', '/email_verification_servers/:uid', 'token', 200, action('email_verification_server_uid')],
    ['POST', '/email_verification_servers/:uid/test', 'token', 200, action('email_verification_server_uid', 'test')],
    ['GET', '/usable_verification_servers', 'token', 200, array],
    ['POST', '/lists/:list_uid/verify', 'token', 201, action('verification_uid', 'verification')],
    ['GET', '/verifications', 'token', 200, index],
    ['GET', '/verifications/:uid', 'token', 200, object('verification')],
    ['DELETE', '/verifications/:uid', 'token', 200, action('verification_uid', 'verification')],
    ['POST', '/verifications/:uid/resume', 'token', 200, action('verification_uid', 'verification')],
    ['PATCH', '/plans/:uid/email_verification_servers', 'admin', 200, action('plan_uid')],
  ),
  ...section(
    'settings',
    ['GET', '/settings', 'admin', 200, object('settings')],
    ['PATCH', '/settings', 'admin', 200, action('settings')],
    ['GET', '/diagnostics', 'admin', 200, object('diagnostics', 'status')],
    ['GET', '/license', 'admin', 200, object('license')],
    ['POST', '/license/refresh', 'admin', 200, action('license')],
    ['GET', '/upgrade', 'admin', 200, object('upgrade')],
    ['POST', '/upgrade/run', 'admin', 200, action('upgrade')],
    ['POST', '/upgrade/run-file', 'admin', 200, action('upgrade')],
    ['POST', '/upgrade/finalize', 'admin', 200, action('upgrade')],
    ['POST', '/upgrade/cancel', 'admin', 200, action('upgrade')],
  ),
  ...section(
    'plugins',
    ['POST', '/plugins/install', 'admin', 201, action('package')],
    ['GET', '/plugins/packages', 'admin', 200, array],
    ['GET', '/plugins/packages/:uid', 'admin', 200, object('package')],
    ['POST', '/plugins/packages/:uid/cancel', 'admin', 200, action('package')],
    ['POST', '/plugins/:vendor/:name/rollback', 'admin', 200, action('plugin')],
    ['GET', '/plugins/:vendor/:name/jobs', 'admin', 200, array],
    ['POST', '/plugins/:vendor/:name/jobs/retry', 'admin', 200, action('count')],
    ['GET', '/plugins', 'admin', 200, array],
    ['POST', '/plugins/:vendor/:name/activate', 'admin', 200, action('plugin')],
    ['POST', '/plugins/:vendor/:name/deactivate', 'admin', 200, action('plugin', 'used_by_automations')],
    ['DELETE', '/plugins/:vendor/:name', 'admin', 200, action('plugin')],
    ['GET', '/extension_slots', 'token', 200, array],
    ['GET', '/plugin_mail_templates', 'token', 200, array],
    ['GET', '/plugins/:vendor/:name/settings', 'token', 200, array],
    ['PATCH', '/plugins/:vendor/:name/settings', 'token', 200, action('settings')],
    ['GET', '/me/plugins', 'token', 200, array],
    ['POST', '/me/plugins/:vendor/:name/switch-on', 'token', 200, action('plugin')],
    ['POST', '/me/plugins/:vendor/:name/switch-off', 'token', 200, action('plugin')],
  ),
  ...section(
    'money',
    ['GET', '/currencies', 'token', 200, array],
    ['GET', '/invoices', 'token', 200, index],
    ['GET', '/invoices/:uid', 'token', 200, object('invoice')],
    ['POST', '/invoices/:uid/claim', 'token', 201, action('payment_uid', 'invoice_uid', 'payment')],
    ['POST', '/invoices/:uid/checkout', 'token', 201, action('payment_uid', 'invoice_uid', 'url')],
    ['POST', '/invoices/:uid/refresh', 'token', 200, object('invoice')],
    ['POST', '/invoices/:uid/pay', 'admin', 200, action('payment_uid', 'invoice_uid', 'payment')],
    ['GET', '/payments', 'admin', 200, index],
    ['POST', '/payments/:uid/approve', 'admin', 200, action('payment_uid', 'invoice_uid', 'payment')],
    ['POST', '/payments/:uid/reject', 'admin', 200, action('payment_uid', 'invoice_uid', 'payment')],
    ['GET', '/vendor_requests', 'admin', 200, index],
    ['GET', '/vendor_requests/:uid', 'admin', 200, object('vendor_request', 'query', 'headers', 'body', 'is_base64')],
    [
      'POST',
      '/vendor_requests/:uid/replay',
      'admin',
      200,
      action('vendor_request_uid', 'vendor_request', 'taken', 'repeated'),
    ],
    ['GET', '/webhooks', 'token', 200, index],
    ['GET', '/webhook_events', 'token', 200, object('events')],
    ['POST', '/webhooks', 'token', 201, action('webhook_uid', 'secret', 'webhook')],
    ['GET', '/webhooks/:uid', 'token', 200, object('webhook')],
    ['PATCH', '/webhooks/:uid', 'token', 200, action('webhook_uid', 'webhook')],
    ['DELETE', '/webhooks/:uid', 'token', 200, action('webhook_uid')],
    ['POST', '/webhooks/:uid/secret', 'token', 200, action('webhook_uid', 'secret', 'webhook')],
    ['POST', '/webhooks/:uid/test', 'token', 200, action('webhook_uid', 'delivery')],
    ['GET', '/webhooks/:uid/deliveries', 'token', 200, index],
    ['POST', '/webhooks/:uid/deliveries/resend', 'token', 200, action('webhook_uid', 'count', 'are_more', 'last_uid')],
    ['POST', '/webhooks/:uid/deliveries/:delivery_uid/resend', 'token', 200, action('webhook_uid', 'delivery')],
    ['GET', '/payment_gateways', 'admin', 200, index],
    ['GET', '/payment_gateway_types', 'admin', 200, array],
    ['POST', '/payment_gateways', 'admin', 201, action('payment_gateway_uid', 'payment_gateway')],
    ['GET', '/payment_gateways/:uid', 'admin', 200, object('payment_gateway')],
    ['PATCH', '/payment_gateways/:uid', 'admin', 200, action('payment_gateway_uid', 'payment_gateway')],
    ['POST', '/payment_gateways/:uid/test', 'admin', 200, action('payment_gateway_uid', 'test')],
    ['DELETE', '/payment_gateways/:uid', 'admin', 200, action('payment_gateway_uid', 'is_deleted')],
    ['GET', '/payment_gateways/:uid/remote_plans', 'admin', 200, array],
    ['POST', '/plans/:uid/remote_plan', 'admin', 201, action('plan_uid', 'remote_plan')],
    ['DELETE', '/plans/:uid/remote_plan', 'admin', 200, action('plan_uid', 'gateway_uid')],
    ['POST', '/invoices/:uid/remote_subscription', 'token', 201, action('payment_uid', 'invoice_uid', 'payment')],
    ['GET', '/payment_methods', 'token', 200, array],
    ['DELETE', '/payment_methods/:uid', 'token', 200, action('payment_method_uid', 'warning')],
  ),
];
