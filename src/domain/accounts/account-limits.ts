/** Limits of accounts, each with its reason. */

/** Decision D11: after so many failures within the window, logins of an account or an address are refused. */
export const LOGIN_FAILURES_MAX = 10;
export const LOGIN_WINDOW_MINUTES = 15;
/** After a few mistakes the answer still comes at once; then it takes 100 ms, 200 ms, 400 ms … */
export const LOGIN_TRIES_AT_ONCE_MAX = 5;
export const LOGIN_DELAY_FIRST_MS = 100;
/**
 * In any 24 hours (record 0057). At this rate the 10,000 most used passwords, which nobody can choose here, would take 100 days.
 */
export const LOGIN_FAILURES_PER_DAY_MAX = 100;
/** Logins of one address, successful ones included: each costs a hash. A whole office logs in less often. */
export const LOGIN_TRIES_PER_MINUTE_MAX = 30;

/** Of a million codes three are right at any time: twenty guesses in any 24 hours succeed once in 45 years. */
export const SECOND_FACTOR_TRIES_MAX = 5;
export const SECOND_FACTOR_TRIES_PER_DAY_MAX = 20;
export const RECOVERY_CODES = 10;

/** How long a device that logged in is known: its tries are counted separately from those of strangers. */
export const KNOWN_DEVICE_DAYS = 180;

/** Enough for every device and script of a person; without a limit a looping script would fill the table. */
export const LOGIN_TOKENS_MAX = 100;
export const NAMED_TOKENS_MAX = 100;

/** NIST SP 800-63B demands at least this. */
export const PASSWORD_LENGTH_MIN = 8;
/** More than anybody types; longer ones would only cost hashing time. */
export const PASSWORD_LENGTH_MAX = 128;

export const TOKEN_NAME_LENGTH_MAX = 100;

/** The audit trail is kept so long: a year and some weeks for questions about it. */
export const AUDIT_KEPT_DAYS = 400;
/** Failures that are stored per user and hour: a few show an attack, and the log has the others. */
export const FAILURES_PER_HOUR_MAX = 60;
/** No input has so many parts; a limit on the size of rows. */
export const AUDIT_FIELDS_MAX = 50;

/** Decision D13. */
export const LOGIN_LINK_MINUTES = 10;
/** Valid links per user at the same time: limits looping scripts. */
export const LOGIN_LINKS_MAX = 20;

/** Names of customers and users: one line. */
export const PERSON_NAME_LENGTH_MAX = 100;
