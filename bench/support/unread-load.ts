/** Clients that send many requests on each connection and read nothing of the answers, as an attacker does. */
import { connect, type Socket } from 'node:net';

export interface UnreadLoad {
  readonly sockets: number;
  /** Sent on each connection, one behind the other. */
  readonly requests: number;
}

export interface Unread {
  /** Connections that the server has closed. */
  closed(): number;
  /** Ends all connections. */
  end(): void;
}

/** Opens the connections and sends `request` on each of them; nothing is ever read. */
export function sendUnread(url: string, request: string, { sockets, requests }: UnreadLoad): Unread {
  const { hostname, port } = new URL(url);
  const bytes = Buffer.from(request.repeat(requests), 'latin1');
  const open: Socket[] = Array.from({ length: sockets }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(bytes);
    return socket;
  });
  // A paused socket learns of its end when it is written to.
  const probe = setInterval(() => open.forEach((socket) => socket.writable && socket.write('\r\n')), 5_000);
  return {
    closed: () => open.filter((socket) => socket.destroyed).length,
    end() {
      clearInterval(probe);
      for (const socket of open) socket.destroy();
    },
  };
}
