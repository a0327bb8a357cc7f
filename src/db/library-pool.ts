/**
 * A pool for a library that needs one. The queue's library releases its listening connection twice when that breaks during the
 * release; the pool would throw where nobody catches it, and end the process.
 */
import pg from 'pg';

type Release = (reason?: unknown) => void;
/** Without a connection there is nothing to release: after a timeout the pool passes on an error alone. */
type OnConnect = (error: Error | undefined, client: pg.PoolClient | undefined, release: Release | undefined) => void;

export class LibraryPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<pg.PoolClient> | void {
    if (!callback) return super.connect();
    super.connect((error, client, release) => callback(error, client, once(release)));
  }
}

function once(release: Release | undefined): Release | undefined {
  if (!release) return undefined;
  let isReleased = false;
  return (reason) => {
    if (isReleased) return;
    isReleased = true;
    release(reason);
  };
}
