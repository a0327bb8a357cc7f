/** The limits of one GraphQL document, request and connection, each with its reason. */

// Documents. Our largest operation has about 60 fields, 250 tokens, 7 levels; the limits are several times that.
export const DOCUMENT_CHARACTERS_MAX = 256 * 1024;
export const TOKENS_MAX = 4_000;
/** As written. Validation compares fields of one name in pairs: 300 of them still take a few milliseconds. */
export const FIELDS_WRITTEN_MAX = 300;
/** With every fragment spread expanded, which limits documents that multiply fragments. */
export const FIELDS_UNFOLDED_MAX = 2_000;
export const FRAGMENTS_MAX = 50;
export const DEPTH_MAX = 14;
/** The introspection query of GraphiQL is 15 deep; validation stops circles. */
export const INTROSPECTION_DEPTH_MAX = 20;
/** Nested objects and lists in variables: a rule of a segment has 24. The code that reads them is recursive. */
export const VARIABLE_DEPTH_MAX = 40;
export const ALIASES_MAX = 50;
export const DIRECTIVES_MAX = 50;
export const ROOT_FIELDS_MAX = 20;

/**
 * The most values in an answer, by the document. A page of 100 campaigns with all single values, their lists and figures takes
 * 11,000.
 */
export const COST_MAX = 15_000;
/**
 * The assumed length of a list without a size argument. Such lists are short: the fields of a list, the scopes of a token. A list
 * that may be longer says so (`extensions: { listLength }`).
 */
export const LIST_LENGTH_GUESSED = 5;

/** Rows of a connection. */
export const FIRST_DEFAULT = 25;
export const FIRST_MAX = 100;
/** Where no counter has the number of rows, so many are counted: their keys are read in some milliseconds. */
export const COUNTED_MAX = 10_000;
/** Rows of a numbered page (decision D2). */
export const PER_PAGE_DEFAULT = 25;
export const PER_PAGE_MAX = 1_000;

/**
 * Html and plain text of campaigns in one answer: a page of 1,000 campaigns of 32 KB each, or of eight with the largest html. An
 * answer is in memory three times: as the database sends it, as values and as JSON.
 */
export const CONTENT_BYTES_MAX = 32 * 1024 * 1024;

/** Parsed and validated documents in memory: a web app has some dozens. */
export const DOCUMENTS_CACHED_MAX = 500;

// Websockets (graphql-ws).
export const SOCKETS_MAX = 4_000;
/** Websockets and event streams together. */
export const CONNECTIONS_PER_USER_MAX = 10;
export const OPERATIONS_PER_SOCKET_MAX = 20;
export const SOCKET_MESSAGE_BYTES_MAX = 64 * 1024;
export const SOCKET_INIT_MS_MAX = 3_000;
export const SOCKET_PING_EVERY_MS = 30_000;
/** What may wait for a slow reader, beyond the kernel's buffers. */
export const SOCKET_BUFFERED_BYTES_MAX = 1024 * 1024;
/** A message that is not taken for so long closes its connection; with the check below that is within 10 seconds. */
export const SLOW_READER_MS_MAX = 7_000;
/** How often open connections are checked: for readers that stopped, and for tokens that ended (within 2 seconds). */
export const CONNECTIONS_CHECKED_EVERY_MS = 1_000;
/** How long a connection may take to close. */
export const SOCKET_CLOSE_MS_MAX = 1_000;
