/**
 * One connection with another login than the program's, for statements that others wrote: opened by the first statement, closed when it
 * is not used. Statements run one after the other, with limits of time and size.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseClient } from './client.ts';
import type { WorkLimits } from './work-limits.ts';

export interface Login {
  /** The database; user and password in it are replaced. */
  readonly url: string;
  readonly role: string;
  readonly password: string;
  readonly applicationName: string;
}

export interface LoginResult {
  readonly rows: readonly Record<string, unknown>[];
  readonly count: number;
}

/** Runs a statement on the connection. */
export type RunStatement = (text: string, values?: readonly unknown[]) => Promise<LoginResult>;

const CONNECT_MS_MAX = 10_000;
/** The server ends a statement first; a connection whose server does not is given up. */
const LIMITS: WorkLimits = { statementMsMax: 10_000, lockMsMax: 5_000, idleMsMax: 10_000 };
const WORK_MS_MAX = 12_000;
const IDLE_MS_MAX = 30_000;
const RESULT_BYTES_MAX = 10 * 1_048_576;
const WAITING_MAX = 500;

export class LoginConnection {
  readonly #login: () => Promise<Login>;
  #client: DatabaseClient | undefined;
  #bytes = 0;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  /** `login` is called before each connection. */
  constructor(login: () => Promise<Login>) {
    this.#login = login;
  }

  /** Runs `work` when all before it has ended. What it began and did not end is rolled back. */
  use<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    if (this.#waiting >= WAITING_MAX) return Promise.reject(new Error('Too many statements are waiting.'));
    this.#waiting++;
    const working = this.#last.then(() => this.#work(work)).finally(() => this.#waiting--);
    this.#last = working.catch(() => undefined);
    return working;
  }

  /** Closes the connection at once; the next statement opens another. */
  close(): void {
    clearTimeout(this.#idle);
    this.#client?.destroy('The connection was closed.');
    this.#client = undefined;
  }

  async #work<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    const client = (this.#client ??= await this.#open());
    const late = new AbortController();
    let isOver = false;
    const run: RunStatement = async (text, values = []) => {
      if (isOver) throw new Error('The work to which this statement belongs has ended.');
      this.#bytes = 0;
      // The extended protocol: one statement in each text.
      const config: pg.QueryConfig & { queryMode: 'extended' } = { text, values: [...values], queryMode: 'extended' };
      const { rows, rowCount } = await client.query<Record<string, unknown>>(config);
      if (this.#bytes > RESULT_BYTES_MAX) throw new Error('The rows have over 10 MB.');
      return { rows, count: rowCount ?? 0 };
    };
    const timeUp = sleep(WORK_MS_MAX, undefined, { signal: late.signal }).then(() => {
      throw new Error(`It took over ${WORK_MS_MAX / 1_000} seconds.`);
    });
    timeUp.catch(() => undefined);
    try {
      const result = await Promise.race([work(run), timeUp]);
      this.#idle = setTimeout(() => this.close(), IDLE_MS_MAX).unref();
      return result;
    } catch (error) {
      // Nothing is known about what was going on.
      if (this.#client === client) this.close();
      throw this.#bytes > RESULT_BYTES_MAX ? new Error('The rows have over 10 MB.', { cause: error }) : error;
    } finally {
      isOver = true;
      late.abort();
    }
  }

  async #open(): Promise<DatabaseClient> {
    const { url, role, password, applicationName } = await this.#login();
    const client = new DatabaseClient({
      ...{ connectionString: withLogin(url, role, password), application_name: applicationName },
      ...{ connectionTimeoutMillis: CONNECT_MS_MAX, keepAlive: true },
    });
    client.on('error', () => undefined);
    client.once('end', () => {
      if (this.#client === client) this.#client = undefined;
    });
    await client.connect();
    this.#bytes = 0;
    // Also within one row.
    client.connection.stream.on('data', ({ length }: Buffer) => {
      this.#bytes += length;
      if (this.#bytes > RESULT_BYTES_MAX) client.destroy('The rows have over 10 MB.');
    });
    await client.beginSession(LIMITS);
    return client;
  }
}

function withLogin(url: string, role: string, password: string): string {
  const changed = new URL(url);
  changed.username = encodeURIComponent(role);
  changed.password = encodeURIComponent(password);
  return changed.href;
}
