/** The rights of a token. `*` is everything its user may do; a write scope includes the read scope of the same noun. */
export const SCOPES = [
  'lists:read',
  'lists:write',
  'subscribers:read',
  'subscribers:write',
  'campaigns:read',
  'campaigns:write',
  'templates:read',
  'templates:write',
  'automations:read',
  'automations:write',
  'transactional:read',
  'transactional:send',
  'sending-servers:read',
  'sending-servers:write',
  'sending-domains:read',
  'sending-domains:write',
  'events:write',
  'webhooks:read',
  'webhooks:write',
  'files:read',
  'files:write',
  'billing:read',
  'billing:write',
  'account:read',
  'account:write',
  'admin',
] as const;

export type Scope = (typeof SCOPES)[number];

export const EVERY_SCOPE = '*';

/** Whether a token with the scopes `held` may do what needs `scope`. */
export function holdsScope(held: readonly string[], scope: Scope): boolean {
  return held.some((one) => one === EVERY_SCOPE || one === scope || one === writingTwin(scope));
}

/** Whether a token with the scopes `held` may grant `wanted` (`*` or a scope): never more than it has. */
export function mayGrant(held: readonly string[], wanted: string): boolean {
  if (held.includes(EVERY_SCOPE)) return true;
  return SCOPES.some((scope) => scope === wanted && holdsScope(held, scope));
}

function writingTwin(scope: Scope): string {
  return scope.replace(':read', ':write');
}
