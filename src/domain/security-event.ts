/** What concerns who gets in: a login, a refused credential, a change of how somebody gets in. */

/** Whose account it is about; absent: nobody's that we know. */
export interface Account {
  readonly customerId: bigint;
  readonly userId?: bigint | undefined;
  readonly userUid?: string | undefined;
}

export interface SecurityEvent {
  /**
   * `logged_in`, `changed`: it went well. `code_asked`: the password was right, the code is still to come. `login_failed`,
   * `login_locked`: also of a password or code that is asked for within a session. `token_refused`, `link_refused`: of
   * one that is unknown, ended or used.
   */
  readonly kind:
    | 'logged_in'
    | 'changed'
    | 'code_asked'
    | 'login_failed'
    | 'login_locked'
    | 'token_refused'
    | 'link_refused';
  /** The name of the mutation, or of what is none: `useLoginLink`, `authenticate`. */
  readonly operation: string;
  readonly account: Account | null;
  /** For what did not go well: a code such as `WRONG_CREDENTIALS`. */
  readonly reason?: string | undefined;
  /** Of a try on an unknown account: a digest by which tries on the same name are known. People type passwords there. */
  readonly nameDigest?: string | undefined;
  /** The token or session it was done with, or that it is about. */
  readonly tokenUid?: string | undefined;
  readonly tokenKind?: 'primary' | 'login' | 'named' | 'session' | undefined;
  /** Uid of what was changed. */
  readonly targetUid?: string | null | undefined;
  /** Names of what was given. */
  readonly fields?: readonly string[] | undefined;
  /** Happens to honest people: a browser whose session has ended. Logged, and no sign of an attack. */
  readonly isUsual?: boolean | undefined;
}

/** Who asks, and how, as far as it is known before anybody is known. */
export interface Caller {
  readonly ipAddress: string | null;
  /** The kind of the caller's program: `Firefox on Linux`. */
  readonly client?: string | null | undefined;
  readonly entryPoint?: 'graphql' | 'rest' | 'page' | undefined;
}

export interface SecurityEvents {
  /** Writes a line of the log and, where an account is known, a row of the audit trail. Returns at once, never throws. */
  note(caller: Caller, event: SecurityEvent): void;
}
