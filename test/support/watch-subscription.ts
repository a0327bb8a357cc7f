/** Watches subscriptions over real websockets. */
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';

export type Value = Readonly<Record<string, unknown>>;

export interface Watched<Event> {
  /** The next event's value of the field; the code of an error; undefined at the end. */
  next(): Promise<Event | string | null | undefined>;
  /** The next one that fits; those before are passed over. */
  until(fits: (event: Event) => boolean): Promise<Event>;
  /** Resolves when it has ended, in whatever way. */
  end(): Promise<void>;
  readonly codes: readonly number[];
}

/** For the GraphQL at this address; `close` ends what is watched still. */
export function watcherOf(url: string) {
  const clients: Client[] = [];

  /** Subscribes over a websocket of its own. */
  function watch<Event = Value>(token: string, query: string, variables: Value = {}): Watched<Event> {
    const codes: number[] = [];
    const client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0,
      on: { closed: (event) => codes.push((event as { code: number }).code) },
    });
    clients.push(client);
    const events = client.iterate<Record<string, Event | null>>({ query, variables });
    const next = async () => {
      const { value, done } = await events.next();
      if (done) return undefined;
      const code = value.errors?.[0]?.extensions?.['code'];
      return code === undefined ? Object.values(value.data ?? {})[0] : JSON.stringify(code);
    };
    return {
      next,
      async until(fits) {
        for (;;) {
          const event = await next();
          if (event === undefined || typeof event === 'string') throw new Error('It ended.');
          if (event !== null && fits(event)) return event;
        }
      },
      async end() {
        // The iterator throws the closing of the socket.
        const nextOrEnd = () => next().catch(() => undefined);
        while ((await nextOrEnd()) !== undefined);
      },
      codes,
    };
  }

  return { watch, close: () => clients.forEach((client) => void client.dispose()) };
}
