/**
 * Records that a credential was refused, with its user and the reason if known. Looked up after the answer, and only a few times
 * a minute per address: strangers must not cause a statement with every invented token.
 */
import { addressBlock } from '../../lib/address-block.ts';
import { messageOf } from '../../lib/errors.ts';
import { createQuota } from '../../lib/quota.ts';
import type { Context } from '../context.ts';
import type { Caller } from '../security-event.ts';
import { findRefusedToken, type TokenOwner } from './api-token-store.ts';

export interface RefusedToken {
  readonly text: string;
  readonly isSession: boolean;
}

const LOOK_UPS_PER_MINUTE_MAX = 10;
const LOOK_UPS_PER_MINUTE_IN_ALL_MAX = 300;
const MINUTE_MS = 60_000;
const ADDRESSES_MAX = 20_000;

const lookUps = createQuota({ max: LOOK_UPS_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX });
const allLookUps = createQuota({ max: LOOK_UPS_PER_MINUTE_IN_ALL_MAX, windowMs: MINUTE_MS, keysMax: 1 });

/** Returns at once, never throws. */
export function noteRefusedToken(
  { database, log, securityEvents }: Pick<Context, 'database' | 'log' | 'securityEvents'>,
  caller: Caller,
  token: RefusedToken,
): void {
  if (!securityEvents) return;
  const note = (owner: TokenOwner | undefined) =>
    securityEvents.note(caller, {
      ...{ kind: 'token_refused', operation: 'authenticate', reason: owner?.reason ?? 'TOKEN_UNKNOWN' },
      account: owner ?? null,
      ...{ tokenUid: owner?.tokenUid, tokenKind: owner?.tokenKind ?? (token.isSession ? 'session' : undefined) },
      // A browser keeps its cookie longer than we keep the session.
      isUsual: token.isSession,
    });
  const mayQuery =
    lookUps.take(addressBlock(caller.ipAddress ?? '')) !== undefined && allLookUps.take('all') !== undefined;
  if (!mayQuery) return note(undefined);
  findRefusedToken(database, token).then(note, (error: unknown) =>
    log.warn('security.token_not_looked_up', { message: messageOf(error) }),
  );
}
