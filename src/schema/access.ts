/** Who may use a field. The same rules hold for the product's fields and for those of plugins. */
import { AuthScopeFailureType, type AuthFailure } from '@pothos/plugin-scope-auth';
import { holdsScope, type Scope } from '../domain/accounts/scopes.ts';
import type { Viewer } from '../domain/context.ts';
import { assert, ForbiddenError, UnauthenticatedError } from '../lib/errors.ts';
import { unavailableError } from './mask-error.ts';

export type Access =
  | { readonly public: true }
  | { readonly authenticated: true }
  | { readonly admin: true }
  | { readonly scope: Scope };

/** What this viewer may use. */
export function accessOf(viewer: Viewer | null) {
  return {
    // What strangers may do is for people: a plugin could try passwords with it.
    public: viewer?.plugin === undefined,
    authenticated: viewer !== null && viewer.refusal === undefined,
    scope: (scope: Scope) => viewer !== null && holdsScope(viewer.scopes, scope),
    admin: viewer !== null && viewer.isAdmin && holdsScope(viewer.scopes, 'admin'),
  };
}

/** Throws what a viewer gets who may not use the field. */
export function requireAccess(viewer: Viewer | null, access: Access): void {
  const allowed = accessOf(viewer);
  const isAllowed =
    'scope' in access
      ? allowed.scope(access.scope)
      : 'public' in access
        ? allowed.public
        : 'admin' in access
          ? allowed.admin
          : allowed.authenticated;
  if (!isAllowed) throw accessRefusal(viewer, access);
}

/** Why the viewer is refused. `needed`: the right that the viewer lacks, if it is known. */
export function accessRefusal(viewer: Viewer | null, needed?: unknown): Error {
  if (viewer?.refusal === 'maintenance') return unavailableError();
  if (viewer?.refusal === 'api')
    return new ForbiddenError('API_ACCESS_NOT_INCLUDED', 'The plan does not include access to the API.');
  if (viewer?.plugin !== undefined)
    return new ForbiddenError('FORBIDDEN', `The plugin "${viewer.plugin}" was not granted that.`);
  if (!viewer) return new UnauthenticatedError();
  const takes = needed === undefined ? '' : `: it takes ${rightOf(needed)}`;
  return new ForbiddenError('FORBIDDEN', `This token does not allow that${takes}.`);
}

/** The right that was not held, in the form of `Access`. */
export function deniedRight(failure: AuthFailure): unknown {
  if ('failures' in failure) return failure.failures.map(deniedRight).find((one) => one !== undefined);
  return failure.kind === AuthScopeFailureType.AuthScope ? { [failure.scope]: failure.parameter } : undefined;
}

/** The right in words, for the description of a root field. */
export function rightOf(scopes: unknown): string {
  assert(typeof scopes === 'object' && scopes !== null, 'a root field names its right');
  if ('public' in scopes) return 'no token';
  if ('authenticated' in scopes) return 'any token';
  if ('scope' in scopes) return `the scope \`${String(scopes.scope)}\``;
  assert('admin' in scopes, 'a right is public, authenticated, scope or admin');
  return 'the token of an administrator with the scope `admin`';
}
