/**
 * Records events about access, so that an attack is seen and can be blocked: a log line for every event, and a row of the audit
 * trail for failures on a known account (a success has its row as a change). Passwords, tokens and codes are never included.
 * Strangers cause failures: lines are limited per address, rows per user.
 */
import { addressBlock } from '../../lib/address-block.ts';
import type { Log } from '../../lib/log.ts';
import { createQuota } from '../../lib/quota.ts';
import type { Caller, SecurityEvent, SecurityEvents } from '../security-event.ts';
import { FAILURES_PER_HOUR_MAX } from './account-limits.ts';
import type { AuditTrail } from './audit-trail.ts';

/** Tools that block addresses need fewer; the next line of the address says how many were left out. */
const LINES_PER_MINUTE_MAX = 10;
/** For all addresses together: an attack by a whole network must not fill the disk. */
const LINES_PER_MINUTE_IN_ALL_MAX = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ADDRESSES_MAX = 20_000;
const USERS_MAX = 20_000;
/**
 * A script with an expired token returns every minute, and a locked-out user may try without end: one row an hour is enough. All
 * other failures are limited per day by the lock.
 */
const REPEATED_ROWS_PER_HOUR_MAX = 1;

const WENT_WELL: readonly SecurityEvent['kind'][] = ['logged_in', 'changed', 'code_asked'];

/** The notes of one process. */
export function createSecurityEvents({ log, audit }: { log: Log; audit: AuditTrail }): SecurityEvents {
  const keysMax = ADDRESSES_MAX;
  const lines = createQuota({ max: LINES_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax });
  const allLines = createQuota({ max: LINES_PER_MINUTE_IN_ALL_MAX, windowMs: MINUTE_MS, keysMax: 1 });
  const rows = createQuota({ max: FAILURES_PER_HOUR_MAX, windowMs: HOUR_MS, keysMax: USERS_MAX });
  const repeated = createQuota({ max: REPEATED_ROWS_PER_HOUR_MAX, windowMs: HOUR_MS, keysMax: USERS_MAX });

  function writeLine(caller: Caller, event: SecurityEvent): void {
    if (WENT_WELL.includes(event.kind)) return log.info(`security.${event.kind}`, fieldsOf(caller, event));
    const leftOut = lines.take(`${event.kind} ${addressBlock(caller.ipAddress ?? '')}`);
    if (leftOut === undefined || allLines.take('all') === undefined) return;
    const fields = { ...fieldsOf(caller, event), ...(leftOut > 0 ? { leftOut } : {}) };
    log[event.isUsual ? 'info' : 'warn'](`security.${event.kind}`, fields);
  }

  function writeRow(caller: Caller, { kind, operation, account, reason, ...event }: SecurityEvent): void {
    if (!account || WENT_WELL.includes(kind)) return;
    const user = `${account.customerId} ${account.userUid ?? account.userId}`;
    const mayRepeat = kind === 'token_refused' || kind === 'login_locked';
    if (mayRepeat && repeated.take(`${kind} ${operation} ${user} ${event.tokenUid ?? ''}`) === undefined) return;
    if (rows.take(user) === undefined) return;
    const { tokenUid, tokenKind } = event;
    audit.note({
      ...{ customerId: account.customerId, actor: { ...account, tokenUid, tokenKind } },
      ...{ operation, targetUid: null, fields: [], failure: reason ?? 'REFUSED' },
      ...{ entryPoint: caller.entryPoint ?? 'page', ipAddress: caller.ipAddress, client: caller.client },
    });
  }

  return {
    note(caller, event) {
      writeLine(caller, event);
      writeRow(caller, event);
    },
  };
}

/** The address comes first, so that tools which read lines to block addresses need not parse the rest. */
function fieldsOf({ ipAddress, client, entryPoint }: Caller, { account, targetUid, ...event }: SecurityEvent) {
  const { operation, reason, nameDigest, tokenUid, tokenKind, fields } = event;
  return {
    address: ipAddress,
    operation,
    reason,
    customerId: account?.customerId,
    userUid: account?.userUid,
    nameDigest,
    tokenUid,
    tokenKind,
    targetUid: targetUid ?? undefined,
    fields: fields?.length ? fields : undefined,
    client: client ?? null,
    entryPoint: entryPoint ?? 'page',
  };
}
