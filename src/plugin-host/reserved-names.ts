/**
 * Names that a plugin may not have, because /api/v1/<plugin>/ is where its REST rows stand: the first parts of the product's own paths.
 * A test compares this list with the rows.
 */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...['automations', 'campaigns', 'countries', 'currencies', 'customers', 'diagnostics', 'erasures', 'events', 'file'],
  ...['files', 'invoices', 'languages', 'license', 'lists', 'login-token', 'me', 'messages', 'notification'],
  ...['notifications', 'payments', 'plans', 'plugins', 'public', 'segments', 'settings', 'subscribers'],
  ...['subscriptions', 'suppressions', 'templates', 'transactional', 'upgrade', 'user', 'verifications', 'webhooks'],
]);
