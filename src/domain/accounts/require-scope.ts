/** A right that an input needs beyond that of the field that takes it. */
import { ForbiddenError } from '../../lib/errors.ts';
import { viewerOf, type Context } from '../context.ts';
import { holdsScope, type Scope } from './scopes.ts';

/** Throws ForbiddenError when the caller's token lacks the scope that the input `name` needs. */
export function requireScope(ctx: Context, name: string, scope: Scope): void {
  if (holdsScope(viewerOf(ctx).scopes, scope)) return;
  throw new ForbiddenError('FORBIDDEN', `This token does not allow that: \`${name}\` needs the scope \`${scope}\`.`);
}
