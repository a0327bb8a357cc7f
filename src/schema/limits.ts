/** What one GraphQL document, request and connection may take, each with its reason. */

// Documents. Our largest operation has about 60 fields, 250 tokens, 7 levels; everyone may have several times that.
export const DOCUMENT_CHARACTERS_MAX = 256 * 1024;
export const TOKENS_MAX = 4_000;
/** As written. Validation compares fields of one name pair by pair: 300 of them still take a few milliseconds. */
export const FIELDS_WRITTEN_MAX = 300;
/** With every fragment spread unfolded: what a bomb of fragments multiplies. */
export const FIELDS_UNFOLDED_MAX = 2_000;
export const FRAGMENTS_MAX = 50;
export const DEPTH_MAX = 14;
/** The introspection query of GraphiQL is 15 deep; its own rule (validation) stops circles. */
export const INTROSPECTION_DEPTH_MAX = 20;
/** Objects and lists within each other in variables: a rule of a segment has 24. What reads them calls itself. */
export const VARIABLE_DEPTH_MAX = 40;
export const ALIASES_MAX = 50;
export const DIRECTIVES_MAX = 50;
export const ROOT_FIELDS_MAX = 20;

/**
 * Values answered at most, as far as the document shows. A page of 100 campaigns with all that is one value of each, of
 * its list and of its figures takes 11,000.
 */
export const COST_MAX = 15_000;
/**
 * What a list without a size argument is taken for. Such lists are short: the fields of a list, the scopes of a token.
 * A list that may be longer says so (`extensions: { listLength }`).
 */
export const LIST_LENGTH_GUESSED = 5;

/** Rows of a connection. */
export const FIRST_DEFAULT = 25;
export const FIRST_MAX = 100;
/** Rows of a numbered page (decision D2). */
export const PER_PAGE_DEFAULT = 25;
export const PER_PAGE_MAX = 1_000;

/** Parsed and validated documents kept in memory: a web app has some dozens. */
export const DOCUMENTS_CACHED_MAX = 500;

// Websockets (graphql-ws).
export const SOCKETS_MAX = 4_000;
export const SOCKETS_PER_USER_MAX = 10;
export const OPERATIONS_PER_SOCKET_MAX = 20;
export const SOCKET_MESSAGE_BYTES_MAX = 64 * 1024;
export const SOCKET_INIT_MS_MAX = 3_000;
export const SOCKET_PING_EVERY_MS = 30_000;
/** What may wait for a reader that does not read, beyond the kernel's own buffers. */
export const SOCKET_BUFFERED_BYTES_MAX = 1024 * 1024;
/** A message that was not taken for so long closes its connection; with the sweep below that is within 10 seconds. */
export const SLOW_READER_MS_MAX = 7_000;
/** Open connections are looked through this often: for readers that stopped, and for tokens that ended (within 2 seconds). */
export const CONNECTIONS_SWEPT_EVERY_MS = 1_000;
/** How long a connection may take to close after the request to do so. */
export const SOCKET_CLOSE_MS_MAX = 1_000;
