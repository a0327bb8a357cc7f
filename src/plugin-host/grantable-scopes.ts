/**
 * The scopes for which a plugin may ask: those of tokens without `account:write`, which is about users and their credentials. A test
 * compares this list with them.
 */
export const GRANTABLE_SCOPES = [
  ...['lists:read', 'lists:write', 'subscribers:read', 'subscribers:write'],
  ...['campaigns:read', 'campaigns:write', 'templates:read', 'templates:write'],
  ...['automations:read', 'automations:write'],
  ...['transactional:read', 'transactional:send'],
  ...['sending-servers:read', 'sending-servers:write'],
  ...['sending-domains:read', 'sending-domains:write', 'events:write'],
  ...['webhooks:read', 'webhooks:write', 'files:read', 'files:write'],
  ...['billing:read', 'billing:write', 'account:read', 'admin'],
] as const;
