/** Doubles of web servers whose clients may go in the middle of a request. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export type Serve = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** What is thrown because the client has gone is no fault of the double. */
export function untilCutOff(serve: Serve): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) =>
    void serve(req, res).catch((error: unknown) => {
      if (!req.destroyed || req.complete) throw error;
    });
}
