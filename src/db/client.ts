/**
 * One connection to the database: every pool and every connection of its own is made of these. What the server says of a
 * failed statement may hold values of people, so it is left out before anybody can log or store it.
 */
import pg from 'pg';

/** Data exceptions: their texts quote the value that was refused. */
const QUOTES_VALUES = /^22/;
const QUOTED = /".*"/s;
const BYTES = /0x[0-9a-f]{2}(?: 0x[0-9a-f]{2})*/g;

/** A connection whose errors tell what failed and where in the schema, and no values. */
export class DatabaseClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Before the client itself hears of it.
    this.connection.prependListener('errorMessage', leaveOutValues);
  }
}

/** `DETAIL` and `CONTEXT` quote rows, parameters and lines of a COPY. */
function leaveOutValues(error: unknown): void {
  if (!(error instanceof pg.DatabaseError)) return;
  error.detail = undefined;
  error.where = undefined;
  error.internalQuery = undefined;
  if (QUOTES_VALUES.test(error.code ?? '')) error.message = error.message.replace(QUOTED, '"…"').replace(BYTES, '0x…');
}
