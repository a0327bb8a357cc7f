/** All rows of the REST interface, resource by resource. */
import { accountRows } from './accounts/routes.ts';
import { dryRunRows } from './automations/dry-run.ts';
import { enrolmentRows } from './automations/enrolments.ts';
import { finishedRows } from './automations/finished.ts';
import { moveRows } from './automations/moves.ts';
import { flowDocumentRows } from './automations/flow-documents.ts';
import { flowTestRows } from './automations/flow-tests.ts';
import { automationRows } from './automations/routes.ts';
import { automationRunRows } from './automations/run-routes.ts';
import { timelineRows } from './subscribers/timeline-routes.ts';
import { campaignMessageRows } from './campaigns/message-routes.ts';
import { bounceRows } from './bounces/routes.ts';
import { campaignRows } from './campaigns/routes.ts';
import { customerRows } from './customers/routes.ts';
import { eventRows } from './events/routes.ts';
import { exportRows } from './exports/routes.ts';
import { fileRows } from './files/routes.ts';
import { fromAddressRows } from './from-addresses/routes.ts';
import { importRows } from './imports/routes.ts';
import { listMailRows } from './list-mails/routes.ts';
import { personalDataRows } from './personal-data/routes.ts';
import type { Row } from './row.ts';
import { listRows } from './lists/routes.ts';
import { logRows } from './logs/routes.ts';
import { notificationRows } from './notifications/routes.ts';
import { invoiceRows } from './invoices/routes.ts';
import { paymentGatewayRows } from './payment-gateways/routes.ts';
import { paymentMethodRows } from './payment-methods/routes.ts';
import { planRows } from './plans/routes.ts';
import { remotePlanRows } from './remote-plans/routes.ts';
import { extensionRows } from './plugins/extension-routes.ts';
import { offeredPluginRows } from './plugins/offered-routes.ts';
import { pluginRows } from './plugins/routes.ts';
import { segmentRows } from './segments/routes.ts';
import { sendingDomainRows } from './sending-domains/routes.ts';
import { sendingRouteRows } from './sending-routes/routes.ts';
import { serverIdentityRows } from './sending-servers/identities.ts';
import { sendingServerRows } from './sending-servers/routes.ts';
import { loginLinkRows } from './session/login-link-routes.ts';
import { sessionRows } from './session/routes.ts';
import { upgradeRows } from './settings/upgrade-routes.ts';
import { licenseRows } from './settings/license-routes.ts';
import { settingsRows } from './settings/routes.ts';
import { subscriberRows } from './subscribers/routes.ts';
import { subscriptionRows } from './subscriptions/routes.ts';
import { verificationChoiceRows } from './verification/choice-routes.ts';
import { verificationRows } from './verification/routes.ts';
import { verificationServerRows } from './verification/server-routes.ts';
import { messageLogRows } from './messages/routes.ts';
import { suppressionRows } from './suppressions/routes.ts';
import { templateRows } from './templates/routes.ts';
import { transactionalRows } from './transactional/routes.ts';
import { vendorRequestRows } from './vendor-requests/routes.ts';
import { webhookRows } from './webhooks/routes.ts';

export const rows: readonly Row[] = [
  ...sessionRows,
  ...loginLinkRows,
  ...accountRows,
  ...customerRows,
  ...campaignRows,
  ...campaignMessageRows,
  ...listRows,
  ...importRows,
  ...fileRows,
  ...exportRows,
  ...logRows,
  ...notificationRows,
  ...listMailRows,
  ...personalDataRows,
  ...subscriberRows,
  ...messageLogRows,
  ...transactionalRows,
  ...suppressionRows,
  ...eventRows,
  ...segmentRows,
  ...templateRows,
  ...automationRows,
  ...dryRunRows,
  ...moveRows,
  ...finishedRows,
  ...flowDocumentRows,
  ...enrolmentRows,
  ...flowTestRows,
  ...automationRunRows,
  ...timelineRows,
  ...sendingServerRows,
  ...serverIdentityRows,
  ...sendingRouteRows,
  ...verificationServerRows,
  ...verificationChoiceRows,
  ...verificationRows,
  ...fromAddressRows,
  ...bounceRows,
  ...sendingDomainRows,
  ...settingsRows,
  ...licenseRows,
  ...upgradeRows,
  ...vendorRequestRows,
  ...webhookRows,
  ...pluginRows,
  ...extensionRows,
  ...offeredPluginRows,
  ...planRows,
  ...subscriptionRows,
  ...invoiceRows,
  ...paymentGatewayRows,
  ...remotePlanRows,
  ...paymentMethodRows,
];
