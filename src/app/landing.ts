/** The page at `/` of this installation: what an administrator has to do next, by the checks of the installation. */
import type { Context } from '../domain/context.ts';
import { diagnose } from '../domain/installation/diagnostics.ts';
import { iconMount } from '../http/icon-mount.ts';
import type { Mount } from '../http/http-server.ts';
import { landingMount, type LandingState } from '../http/landing-page.ts';
import { rightsOf } from './page-rights.ts';
import { REFERENCE_PATH } from './rest-mounts.ts';

const GRAVITY = { error: 0, warning: 1, ok: 2 } as const;

/** The page, on which only administrators see what is wrong, and the icon. */
export function landingMounts(
  ctx: Context,
  { hasInbox, hasExplorer }: { hasInbox: boolean; hasExplorer: boolean },
): Mount[] {
  const explorer = { href: '/graphql', label: 'GraphQL explorer', about: 'the whole domain, with live statistics' };
  const inbox = { href: '/inbox', label: 'Inbox', about: 'a development receiver: keeps all mails, delivers none' };
  const landing = landingMount({
    title: 'Mailwright',
    links: [
      ...(hasExplorer ? [explorer] : []),
      { href: REFERENCE_PATH, label: 'REST reference', about: 'the same for REST clients' },
      ...(hasInbox ? [inbox] : []),
    ],
    async stateFor(req, { ipAddress }) {
      const rights = await rightsOf(ctx, req, ipAddress || null);
      if (rights === 'administrator') return stateForAdministrator(ctx);
      return rights === 'unknown' ? STRANGER : USER;
    },
  });
  return [landing, iconMount];
}

const RUNNING = { text: 'The installation is running.' };
const USER: LandingState = {
  viewer: 'user',
  notes: [RUNNING],
  steps: [{ text: 'Make a list, add people, send a campaign: the REST reference has an example of each request.' }],
};
const STRANGER: LandingState = {
  viewer: 'stranger',
  notes: [RUNNING],
  steps: [
    {
      text: 'Try your API token. The first start printed that of the administrator.',
      code: 'curl -H "Authorization: Bearer $TOKEN" $BASE_URL/api/v1/me',
    },
    {
      text: 'To log in with this browser, make a login link and open its address. Administrators then see here what to do next.',
      code: 'curl -X POST -H "Authorization: Bearer $TOKEN" $BASE_URL/api/v1/login-token',
    },
  ],
};

async function stateForAdministrator(ctx: Context): Promise<LandingState> {
  const found = (await diagnose(ctx))
    .filter(({ status }) => status !== 'ok')
    .toSorted((a, b) => GRAVITY[a.status] - GRAVITY[b.status]);
  return {
    viewer: 'administrator',
    notes: found.length === 0 ? [{ text: 'All checks are well.' }] : found.map(({ message }) => ({ text: message })),
    steps: found.flatMap(({ advice }) => (advice === null ? [] : [{ text: advice }])),
  };
}
