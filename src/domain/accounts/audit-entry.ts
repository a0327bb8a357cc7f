/** One row of the audit trail, as it is going to be written. */
import type { TokenKind } from '../context.ts';

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
  readonly entryPoint: 'graphql' | 'rest' | 'page';
  readonly ipAddress: string | null;
  /** The kind of the caller's program. */
  readonly client?: string | null | undefined;
  /** The code of the error; absent: it went well. */
  readonly failure?: string | undefined;
}
