/**
 * Host names of customers (tracking domains) lead to this server too. Under them only links of mails are served; the API, pages
 * of the installation and logins are served under its own address only.
 */
import type { Context } from '../domain/context.ts';
import { HOST_PROOF_PATH } from '../domain/sending/domains/tracking-probe.ts';
import { createTrackingHosts } from '../domain/sending/domains/tracking-hosts.ts';
import type { Mount } from '../http/http-server.ts';
import { sendNotFound } from '../http/own-page.ts';
import { hostOf } from '../inbound/host-proof.ts';

/** Addresses in mails: recipients reach these under the sender's own host. */
const LINKS = new Set(['/o', '/c', '/u', '/view', '/profile', '/confirm', '/files', HOST_PROOF_PATH]);

type Upgrade = NonNullable<Mount['upgrade']>;

/** The mounts; under tracking hosts all are closed except links of mails. */
export function ownHostOnly({ db, installation }: Context, mounts: readonly Mount[]): Mount[] {
  const isTrackingHost = createTrackingHosts(db, new URL(installation.baseUrl).hostname);
  return mounts.map((mount) => {
    if (LINKS.has(mount.prefix)) return mount;
    return {
      ...mount,
      async handle(req, res, exchange) {
        if (!(await isTrackingHost(hostOf(req.headers.host ?? '')))) return mount.handle(req, res, exchange);
        sendNotFound(req, res);
      },
      ...(mount.upgrade ? { upgrade: ownHostUpgrade(mount.upgrade, isTrackingHost) } : {}),
    };
  });
}

/** An upgrade to a websocket is checked like a request. Nothing is read from it until a listener is attached. */
function ownHostUpgrade(upgrade: Upgrade, isTrackingHost: (host: string) => Promise<boolean>): Upgrade {
  return (req, socket, head, ipAddress) => {
    isTrackingHost(hostOf(req.headers.host ?? '')).then(
      (isTracking) => (isTracking ? void socket.destroy() : upgrade(req, socket, head, ipAddress)),
      () => void socket.destroy(),
    );
  };
}
