/** Sizes and paces of accounts, each with its reason. */

/** Decision D11: that many failures within the window stop an account's or an address's logins. */
export const LOGIN_FAILURES_MAX = 10;
export const LOGIN_WINDOW_MINUTES = 15;
/** Who only mistyped gets the answer at once; after that it takes 100 ms, 200 ms, 400 ms … */
export const LOGIN_TRIES_AT_ONCE_MAX = 5;
export const LOGIN_DELAY_FIRST_MS = 100;
/** At this pace the 10,000 most used passwords, which nobody can choose here, would take 100 days. */
export const LOGIN_FAILURES_PER_DAY_MAX = 100;
/** Logins of one address, those that go well included: each costs a hash. An office logs in this often and more slowly. */
export const LOGIN_TRIES_PER_MINUTE_MAX = 30;

/** Of a million codes three are right at any time: twenty guesses a day hit once in 45 years. */
export const SECOND_FACTOR_TRIES_MAX = 5;
export const SECOND_FACTOR_TRIES_PER_DAY_MAX = 20;
export const RECOVERY_CODES = 10;

/** A device that logged in is known for so long: its tries are counted apart from those of strangers. */
export const KNOWN_DEVICE_DAYS = 180;

/** Enough for every device and script of a person; without a bound a looping script would fill the table. */
export const LOGIN_TOKENS_MAX = 100;
export const NAMED_TOKENS_MAX = 100;

/** NIST SP 800-63B asks for at least this much of everybody. */
export const PASSWORD_LENGTH_MIN = 8;
/** More than anybody types; longer ones would only cost hashing time. */
export const PASSWORD_LENGTH_MAX = 128;

export const TOKEN_NAME_LENGTH_MAX = 100;

/** The audit trail goes back this far: a year and the weeks in which somebody asks about it. */
export const AUDIT_KEPT_DAYS = 400;
/** Failures that are kept of a user: a guesser is seen after a few, and the log has the others. */
export const FAILURES_PER_HOUR_MAX = 60;
/** No input has as many parts; a bound for rows nobody looks at twice. */
export const AUDIT_FIELDS_MAX = 50;

/** Decision D13. */
export const LOGIN_LINK_MINUTES = 10;
/** Links that work at the same time, per user: a looping script ends here, a person never does. */
export const LOGIN_LINKS_MAX = 20;

/** Customers and users: what fits on a line. */
export const PERSON_NAME_LENGTH_MAX = 100;
