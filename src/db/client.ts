/**
 * One connection to the database; every pool uses these. What the server says about a failed statement may contain values of
 * people, so it is removed before anything can log or store it.
 */
import pg from 'pg';
import type { WorkLimits } from './work-limits.ts';

/** Data exceptions: their texts quote the value that was refused. */
const QUOTES_VALUES = /^22/;
const QUOTED = /".*"/s;
const BYTES = /0x[0-9a-f]{2}(?: 0x[0-9a-f]{2})*/g;

/** 0 means none in PostgreSQL. Limits that the operator has set are for other programs: they would end our long work. */
const NO_LIMITS: WorkLimits = { statementMsMax: 0, lockMsMax: 0, idleMsMax: 0 };

/** The server closes a connection as soon as it is asked to. */
const END_MS_MAX = 1_000;

/** A connection whose errors say what failed and where in the schema, without values. */
export class DatabaseClient extends pg.Client {
  /** The server process of this connection; undefined until it is known. */
  serverPid: number | undefined;
  /** Rows for a COPY are still being made: the server waits for us. */
  isFeeding = false;
  #isEnding = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Before the client itself handles it.
    this.connection.prependListener('errorMessage', leaveOutValues);
  }

  /** A statement was sent, or the connection is being opened, and there is no answer yet. */
  get isWaiting(): boolean {
    return Reflect.get(this, 'readyForQuery') === false;
  }

  /** Grows with every byte received or sent. */
  get bytesMoved(): number {
    const { stream } = this.connection;
    return 'bytesRead' in stream && 'bytesWritten' in stream
      ? Number(stream.bytesRead) + Number(stream.bytesWritten)
      : 0;
  }

  /**
   * Begins a session: sets its time zone and its limits, and asks for its process id, because a pooler in between invents such
   * ids. By a statement: poolers refuse these settings when a connection is opened.
   */
  async beginSession(limits: WorkLimits = NO_LIMITS): Promise<void> {
    const { rows } = await this.query<{ pid: number }>(
      `SELECT pg_backend_pid() AS pid, set_config('TimeZone', 'UTC', false), set_config('statement_timeout', $1, false),
              set_config('lock_timeout', $2, false), set_config('idle_in_transaction_session_timeout', $3, false)`,
      [limits.statementMsMax, limits.lockMsMax, limits.idleMsMax].map(String),
    );
    this.serverPid = rows[0]?.pid;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  /** Closes the connection; does not wait for a server that does not answer. */
  override end(callback?: (error: Error) => void): Promise<void> | void {
    this.#isEnding = true;
    const late = setTimeout(() => this.connection.stream.destroy(), END_MS_MAX).unref();
    this.connection.once('end', () => clearTimeout(late));
    return callback ? super.end(callback) : super.end();
  }

  /** Ends the connection at once; waiting statements fail. */
  destroy(reason: string): void {
    // A text that lib/is-unavailable.ts recognises as a lost connection. A connection that is being closed gets none: nobody
    // listens to its errors.
    this.connection.stream.destroy(this.#isEnding ? undefined : new Error(`Connection terminated: ${reason}`));
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
