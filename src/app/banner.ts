/** The lines printed at the start: the first login, shown once, and where everything is. Under 15 lines together. */
import type { Bootstrapped } from '../domain/installation/bootstrap-installation.ts';

export interface BannerFacts {
  readonly baseUrl: string;
  readonly roles: readonly string[];
  /** null: the inbox does not run. */
  readonly inboxPort: number | null;
}

/** Prints the credentials that the first start made. They cannot be shown again. What the operator chose is not repeated. */
export function printCredentials({ email, password, apiToken }: Bootstrapped): void {
  const lines = [
    `  Administrator     ${email}`,
    ...(password ? [`  Password          ${password}   (shown once: keep it)`] : []),
    ...(apiToken ? [`  API token         ${apiToken}   (shown once: keep it)`] : []),
  ];
  console.log(`\n${lines.join('\n')}`);
}

export function printBanner(facts: BannerFacts, startedInMs: number): void {
  console.log(`\n${bannerLines(facts, startedInMs).join('\n')}\n`);
}

function bannerLines({ baseUrl, roles, inboxPort }: BannerFacts, startedInMs: number): string[] {
  const seconds = (startedInMs / 1_000).toFixed(1);
  if (!roles.includes('web')) return [`Mailwright (${roles.join(', ')}) is running; started in ${seconds} s.`];
  return [
    `Mailwright is ready at ${baseUrl} (${seconds} s)`,
    '',
    `  GraphQL explorer  ${baseUrl}/graphql/explorer`,
    `  REST reference    ${baseUrl}/docs  (the API itself: ${baseUrl}/api/v1)`,
    ...(inboxPort === null
      ? []
      : [
          `  Inbox             ${baseUrl}/inbox   (development receiver: keeps all mails, SMTP on 127.0.0.1:${inboxPort})`,
        ]),
    '',
    `  Try it: npm run demo${inboxPort === null ? ' -- --own' : ''} (in a second terminal). Stop it: Ctrl-C.`,
  ];
}
