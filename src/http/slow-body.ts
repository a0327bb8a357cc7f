/**
 * Disconnects senders that keep a request open by sending very slowly. Complete silence is ended sooner, by the socket's timeout.
 */
import type { IncomingMessage } from 'node:http';

export interface BodyPace {
  readonly windowMs: number;
  /** So many bytes have to arrive in each window, or the rest of the body. */
  readonly bytesMin: number;
}

/** 4 KiB a second: a modem does more, and a file of 5 MB takes 20 minutes. */
export const BODY_PACE: BodyPace = { windowMs: 60_000, bytesMin: 4 * 1_024 * 60 };

/** Cuts the connection when the body of this request comes too slowly. Time in which we did not read does not count. */
export function watchBody(req: IncomingMessage, { windowMs, bytesMin }: BodyPace): void {
  if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined) return;
  const { socket } = req;
  let before = socket.bytesRead;
  let wasOurs = false;
  const watch = setInterval(() => {
    const came = socket.bytesRead - before;
    before = socket.bytesRead;
    if (req.complete || req.destroyed) return clearInterval(watch);
    const isOurs = waitsForUs(req);
    // If we start reading just before a window ends, that window was slow because of us.
    if (came < bytesMin && !isOurs && !wasOurs) socket.destroy();
    wasOurs = isOurs;
  }, windowMs);
  watch.unref();
  const stop = (): void => clearInterval(watch);
  req.once('close', stop).once('end', stop);
}

/** Bytes are ready and we do not read them: we are the slow side. */
function waitsForUs(req: IncomingMessage): boolean {
  return req.readableLength > 0 || req.socket.readableLength > 0;
}
