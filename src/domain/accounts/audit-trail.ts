/**
 * The audit trail: who did what, when, from where. One row for every change that went well, by whichever door; names of
 * what was given are kept, never what it was. Rows are written in batches, and whoever waits for `record` knows that
 * its row is there (decision record 0051).
 */
import { sql, type Database, type Queryable } from '../../db/database.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { TokenKind } from '../context.ts';
import { AUDIT_FIELDS_MAX } from './account-limits.ts';

/** Whoever did it; null for what the public does. */
export interface AuditActor {
  readonly customerId: bigint;
  /** Absent: looked up by `userId`. */
  readonly userUid?: string | undefined;
  readonly userId?: bigint | undefined;
  readonly tokenUid?: string | undefined;
  readonly tokenKind?: TokenKind | undefined;
}

export interface AuditEntry {
  /** Whose things were changed. 0: nobody's, the installation's. */
  readonly customerId: bigint;
  readonly actor: AuditActor | null;
  /** The name of the mutation, or of what is none: `useLoginLink`. */
  readonly operation: string;
  readonly targetUid: string | null;
  /** Names of inputs. */
  readonly fields: readonly string[];
  readonly door: 'graphql' | 'rest' | 'page';
  readonly ipAddress: string | null;
}

export interface AuditTrail {
  /** Resolves when the row is written, or when writing failed, which the log says: what was done stays done. */
  record(entry: AuditEntry): Promise<void>;
  /** Writes what waits. */
  close(): Promise<void>;
}

/** A statement's worth; more callers than this at once are rare. */
const BATCH_MAX = 500;
/** A lone change hardly waits; under load a batch gathers while the one before is written. */
const WAIT_MS = 1;
/** Every waiting row is a request that waits: far more than can be open. */
const WAITING_MAX = 50_000;

/** A trail that gathers the rows of this process. */
export function createAuditTrail(database: Database, log: Log): AuditTrail {
  const commits = createGroupCommit<AuditEntry>({
    batchMax: BATCH_MAX,
    waitMs: WAIT_MS,
    waitingMax: WAITING_MAX,
    write: (batch) => insertAuditEntries(database, batch),
  });
  return {
    async record(entry) {
      await commits.add(entry).catch((error: unknown) => {
        const { operation, customerId } = entry;
        log.error('audit.not_written', { operation, customerId, message: messageOf(error) });
      });
    },
    close: () => commits.close(),
  };
}

/** Writes rows at once: for acts that have a transaction of their own. */
export async function insertAuditEntries(db: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map(({ customerId, actor, operation, targetUid, fields, door, ipAddress }) => ({
    customer_id: String(customerId),
    actor_customer_id: actor ? String(actor.customerId) : null,
    user_uid: actor?.userUid ?? null,
    user_id: actor?.userId === undefined ? null : String(actor.userId),
    token_uid: actor?.tokenUid ?? null,
    token_kind: actor?.tokenKind ?? null,
    operation,
    target_uid: targetUid,
    fields: fields.slice(0, AUDIT_FIELDS_MAX),
    door,
    ip_address: ipAddress,
  }));
  await db.execute(
    sql`
      INSERT INTO hot.audit_event
             (customer_id, actor_customer_id, user_uid, token_uid, token_kind, operation, target_uid, fields, door, ip_address)
      SELECT e.customer_id, e.actor_customer_id, coalesce(e.user_uid, (
               SELECT u.uid FROM app_user u WHERE u.customer_id = e.actor_customer_id AND u.id = e.user_id)),
             e.token_uid, e.token_kind, e.operation, e.target_uid, e.fields, e.door, e.ip_address
        FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS e(customer_id bigint, actor_customer_id bigint,
             user_uid text, user_id bigint, token_uid text, token_kind text, operation text, target_uid text, fields text[],
             door text, ip_address text)`,
    'accounts.audit',
  );
}
