/** Answers under every host name whether it leads to this installation; used by the check of tracking domains. */
import { HOST_PROOF_PATH, hostProof } from '../domain/sending/domains/tracking-probe.ts';
import type { Context } from '../domain/context.ts';
import type { InboundMount } from './link-request.ts';
import { setPublicHeaders } from './page.ts';

/** `/.well-known/mailwright-host`. */
export function hostProofMount({ installation }: Context): InboundMount {
  return {
    prefix: HOST_PROOF_PATH,
    async handle(req, res) {
      setPublicHeaders(res);
      res.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' });
      res.end(hostProof(installation, hostOf(req.headers.host ?? '')));
    },
  };
}

/** The name in a Host header, without its port and without the dot that may end it. */
export function hostOf(header: string): string {
  return header.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
