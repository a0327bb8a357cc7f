/** A further named token of the caller, with the scopes it needs and no more. */
import { z } from 'zod';
import { databaseNow } from '../../db/now.ts';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput, singleLine } from '../../lib/text.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext, type Viewer } from '../context.ts';
import { scopeNotHeld } from './account-errors.ts';
import { NAMED_TOKENS_MAX, TOKEN_NAME_LENGTH_MAX } from './account-limits.ts';
import { auditInTransaction } from './audit-trail.ts';
import { countNamedTokens, insertApiToken, type IssuedToken, type RestDialect } from './api-token-store.ts';
import { requireRecentLogin } from './require-recent-login.ts';
import { EVERY_SCOPE, mayGrant, SCOPES } from './scopes.ts';
import { lockUser } from './user-store.ts';

export interface CreateApiTokenInput {
  readonly name: string;
  /** `*`, or scopes; none: those of the caller's token. */
  readonly scopes?: readonly string[] | null | undefined;
  readonly restDialect?: RestDialect | null | undefined;
  readonly expiresAt?: Date | null | undefined;
}

export const createApiTokenInput = z.object({
  name: singleLine(TOKEN_NAME_LENGTH_MAX),
  scopes: z
    .array(z.enum([EVERY_SCOPE, ...SCOPES]))
    .min(1)
    .max(SCOPES.length + 1)
    .nullish(),
  restDialect: z.enum(['standard', 'classic']).nullish(),
  expiresAt: z.date().nullish(),
});

/** Makes a token and returns it in clear, this once. Throws ValidationError, ForbiddenError `SCOPE_NOT_HELD`, `LOGIN_TOO_OLD`. */
export async function createApiToken(ctx: Context, input: CreateApiTokenInput): Promise<IssuedToken> {
  const viewer = viewerOf(ctx);
  const { name, scopes, restDialect, expiresAt } = parseInput(createApiTokenInput, input);
  if (viewer.isAdmin) await requireRecentLogin(ctx);
  const granted = [...new Set(scopes ?? viewer.scopes)];
  if (!granted.every((scope) => mayGrant(viewer.scopes, scope))) throw scopeNotHeld();
  return inTransaction(ctx, async (inner) => {
    await refusePast(inner, expiresAt);
    await refuseTooMany(inner, viewer);
    const { customerId, userId } = viewer;
    const issued = await insertApiToken(inner.db, {
      ...{ customerId, userId, kind: 'named', name, scopes: granted, restDialect, expiresAt },
    });
    await auditInTransaction(inner, { customerId, targetUid: issued.uid });
    return issued;
  });
}

/** By the database's clock, which also ends the token. */
async function refusePast({ db }: TransactionContext, expiresAt: Date | null | undefined): Promise<void> {
  if (!expiresAt) return;
  if (expiresAt <= (await databaseNow(db)))
    throw new ValidationError({ expiresAt: ['The expires at must be in the future.'] });
}

async function refuseTooMany({ db }: TransactionContext, viewer: Viewer): Promise<void> {
  await lockUser(db, viewer);
  if ((await countNamedTokens(db, viewer)) < NAMED_TOKENS_MAX) return;
  throw new ValidationError({ name: [`A user may have at most ${NAMED_TOKENS_MAX} API tokens: revoke one first.`] });
}
