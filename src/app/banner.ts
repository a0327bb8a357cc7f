/** What a newcomer reads after the start: where everything is, and, once, how to get in. Under 15 lines. */
import type { Bootstrapped } from '../domain/accounts/bootstrap-installation.ts';

export interface BannerFacts {
  readonly baseUrl: string;
  readonly roles: readonly string[];
  readonly adminEmail: string;
  readonly bootstrapped: Bootstrapped | null;
  /** null: the inbox does not run. */
  readonly inboxPort: number | null;
}

export function printBanner(facts: BannerFacts, startedInMs: number): void {
  console.log(`\n${bannerLines(facts, startedInMs).join('\n')}\n`);
}

function bannerLines(
  { baseUrl, roles, adminEmail, bootstrapped, inboxPort }: BannerFacts,
  startedInMs: number,
): string[] {
  const seconds = (startedInMs / 1_000).toFixed(1);
  if (!roles.includes('web')) return [`Mailwright (${roles.join(', ')}) is working; started in ${seconds} s.`];
  return [
    `Mailwright is ready at ${baseUrl} (${seconds} s)`,
    '',
    `  Administrator     ${bootstrapped?.email ?? adminEmail}`,
    ...(bootstrapped?.password ? [`  Password          ${bootstrapped.password}   (shown once: keep it)`] : []),
    ...(bootstrapped?.apiToken ? [`  API token         ${bootstrapped.apiToken}   (shown once: keep it)`] : []),
    `  GraphQL explorer  ${baseUrl}/graphql`,
    `  REST reference    ${baseUrl}/docs  (the API itself: ${baseUrl}/api/v1)`,
    ...(inboxPort === null
      ? []
      : [
          `  Inbox             ${baseUrl}/inbox   (development receiver: mails end here, SMTP on 127.0.0.1:${inboxPort})`,
        ]),
    '',
    '  Try it: npm run demo (in a second terminal). Stop it: Ctrl-C.',
  ];
}
