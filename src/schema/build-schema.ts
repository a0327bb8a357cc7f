/** The whole schema: every noun's part, in one list. */
import type { GraphQLSchema } from 'graphql';
import { builder } from './builder.ts';
import './scalars.ts';
import './errors.ts';
import './accounts/queries.ts';
import './accounts/mutations.ts';
import './accounts/profile.ts';
import './accounts/login-links.ts';
import './accounts/audit-events.ts';
import './customers/queries.ts';
import './customers/mutations.ts';
import './accounts/two-factor.ts';
import './lists/queries.ts';
import './lists/mutations.ts';
import './lists/list-mails.ts';
import './subscribers/queries.ts';
import './subscribers/mutations.ts';
import './subscribers/personal-data.ts';
import './subscribers/sign-up.ts';
import './suppressions/queries.ts';
import './suppressions/mutations.ts';
import './files/queries.ts';
import './files/mutations.ts';
import './imports/queries.ts';
import './imports/mutations.ts';
import './segments/queries.ts';
import './segments/mutations.ts';
import './campaigns/queries.ts';
import './campaigns/mutations.ts';
import './campaigns/attachments.ts';
import './campaigns/message-tests.ts';
import './campaigns/dry-runs.ts';
import './sending-servers/standing.ts';
import './sending-servers/queries.ts';
import './sending-servers/mutations.ts';
import './sending-domains/queries.ts';
import './sending-domains/mutations.ts';
import './sending-domains/from-addresses.ts';
import './bounces/queries.ts';
import './bounces/mutations.ts';
import './plans/queries.ts';
import './plans/mutations.ts';
import './subscriptions/queries.ts';
import './subscriptions/mutations.ts';
import './allowance/queries.ts';
import './invoices/queries.ts';
import './invoices/mutations.ts';
import './installation/queries.ts';
import './installation/mutations.ts';
import './statistics/subscriptions.ts';
import './statistics/delivery-reports.ts';
import './campaigns/logs.ts';
import './lists/export.ts';

/** Builds the executable schema from all parts. */
export function buildSchema(): GraphQLSchema {
  return builder.toSchema();
}
