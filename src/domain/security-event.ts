/** Events about access: a login, a refused credential, a change of how a user logs in. */

/** The account of the event; absent: none that is known. */
export interface Account {
  readonly customerId: bigint;
  readonly userId?: bigint | undefined;
  readonly userUid?: string | undefined;
}

export interface SecurityEvent {
  /**
   * `logged_in`, `changed`: success. `code_asked`: the password was right, the code is still missing. `login_failed`,
   * `login_locked`: also for a password or code within a session. `token_refused`, `link_refused`: unknown, expired or used ones.
   */
  readonly kind:
    | 'logged_in'
    | 'changed'
    | 'code_asked'
    | 'login_failed'
    | 'login_locked'
    | 'token_refused'
    | 'link_refused';
  /** The name of the mutation, or of another operation: `useLoginLink`, `authenticate`. */
  readonly operation: string;
  readonly account: Account | null;
  /** For failures: a code such as `WRONG_CREDENTIALS`. */
  readonly reason?: string | undefined;
  /** For a try on an unknown account: a digest that identifies tries on the same name. People type passwords there. */
  readonly nameDigest?: string | undefined;
  /** The token or session that was used, or that it is about. */
  readonly tokenUid?: string | undefined;
  readonly tokenKind?: 'primary' | 'login' | 'named' | 'session' | 'plugin' | undefined;
  /** Uid of the changed object. */
  readonly targetUid?: string | null | undefined;
  /** Names of inputs. */
  readonly fields?: readonly string[] | undefined;
  /** Happens to honest people, such as a browser with an expired session. Logged, but no sign of an attack. */
  readonly isUsual?: boolean | undefined;
}

/** The caller, as far as it is known before authentication. */
export interface Caller {
  readonly ipAddress: string | null;
  /** The kind of the caller's program: `Firefox on Linux`. */
  readonly client?: string | null | undefined;
  readonly entryPoint?: 'graphql' | 'rest' | 'page' | undefined;
}

export interface SecurityEvents {
  /** Writes a log line and, for a known account, a row of the audit trail. Returns at once, never throws. */
  note(caller: Caller, event: SecurityEvent): void;
}
