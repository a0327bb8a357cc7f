/** One row of the audit trail before it is written. */
import type { TokenKind } from '../context.ts';

/** Who did it; null for public actions. */
export interface AuditActor {
  readonly customerId: bigint;
  /** Absent: looked up by `userId`. */
  readonly userUid?: string | undefined;
  readonly userId?: bigint | undefined;
  readonly tokenUid?: string | undefined;
  readonly tokenKind?: TokenKind | 'plugin' | undefined;
  /** `vendor/name`. */
  readonly plugin?: string | undefined;
}

export interface AuditEntry {
  /** The customer whose data was changed. 0: the installation. */
  readonly customerId: bigint;
  readonly actor: AuditActor | null;
  /** The name of the mutation, or of another operation: `useLoginLink`. */
  readonly operation: string;
  readonly targetUid: string | null;
  /** Names of inputs. */
  readonly fields: readonly string[];
  readonly entryPoint: 'graphql' | 'rest' | 'page';
  readonly ipAddress: string | null;
  /** The kind of the caller's program. */
  readonly client?: string | null | undefined;
  /** The code of the error; absent: success. */
  readonly failure?: string | undefined;
}
