/** Sizes and paces of accounts, each with its reason. */

/** Decision D11: that many failures within the window stop an account's or an address's logins. */
export const LOGIN_FAILURES_MAX = 10;
export const LOGIN_WINDOW_MINUTES = 15;

/** Decision D11: a login token that nobody used for so long has expired. */
export const LOGIN_TOKEN_IDLE_DAYS = 30;

/** Enough for every device and script of a person; without a bound a looping script would fill the table. */
export const LOGIN_TOKENS_MAX = 100;
export const NAMED_TOKENS_MAX = 100;

/** NIST SP 800-63B asks for at least this much of everybody. */
export const PASSWORD_LENGTH_MIN = 8;
/** More than anybody types; longer ones would only cost hashing time. */
export const PASSWORD_LENGTH_MAX = 128;

export const TOKEN_NAME_LENGTH_MAX = 100;
