/** The rules for what a vendor posts: nobody else can, and every event is told. */
import { isDeepStrictEqual } from 'node:util';
import type { SendingDriverRegistration, WebhookReceiver, WebhookRequest } from '../plugin-api/index.ts';
import { requireThat, type ConformanceRule } from './conformance-rule.ts';
import type { SendingDriverConformance } from './test-vendor.ts';
import { settingsOf } from './settings-rules.ts';

export function webhookRules(
  registration: SendingDriverRegistration,
  { webhook }: SendingDriverConformance,
): readonly ConformanceRule[] {
  const receiver = registration.webhook;
  if (!receiver && !webhook) return [];
  const rule = (name: string, check: (it: Given) => Promise<void>): ConformanceRule => ({
    name: `webhook: ${name}`,
    async check() {
      requireThat(receiver !== undefined, 'The registration has no webhook, and the test has cases for one.');
      requireThat(
        webhook !== undefined && webhook.cases.length > 0,
        'The registration has a webhook: give the suite cases for it.',
      );
      const settings = settingsOf(registration, webhook.settings);
      for (const one of webhook.cases) await check({ receiver, settings, ...one });
    },
  });
  return [
    rule('what the vendor has signed is genuine', async ({ receiver, request, settings }) =>
      requireThat(await receiver.verify(request, settings), 'verify() refuses what the vendor has signed.'),
    ),
    rule('what others post is not', async ({ receiver, request, settings }) => {
      for (const [what, forged] of Object.entries(forgeries(receiver, request)))
        requireThat(!(await verified(receiver, forged, settings)), `verify() takes a request with ${what}.`);
    }),
    rule('its events are told, each with its id and message', async ({ receiver, request, settings, events }) => {
      const parsed = plain(await receiver.parse(request, settings));
      requireThat(
        isDeepStrictEqual(parsed, events),
        `parse() returns ${JSON.stringify(parsed)}; it must be ${JSON.stringify(events)}.`,
      );
      requireThat(
        isDeepStrictEqual(plain(await receiver.parse(request, settings)), parsed),
        'parse() returns something else for the same request.',
      );
    }),
    {
      name: 'webhook: an event of an unknown kind is told as ignored',
      async check() {
        const kinds = webhook?.cases.flatMap(({ events }) => events.map(({ kind }) => kind)) ?? [];
        requireThat(
          kinds.includes('ignored'),
          'No case has an event of a kind that the driver does not know: add one.',
        );
      },
    },
  ];
}

interface Given {
  readonly receiver: WebhookReceiver;
  readonly settings: ReturnType<typeof settingsOf>;
  readonly request: WebhookRequest;
  readonly events: readonly unknown[];
}

function forgeries({ isUnsigned }: WebhookReceiver, request: WebhookRequest): Readonly<Record<string, WebhookRequest>> {
  // Some vendors sign in the body.
  const isProofOutside = Object.keys({ ...request.headers, ...request.query }).length > 0;
  const withoutProof = isProofOutside ? { 'no header and no query': { ...request, headers: {}, query: {} } } : {};
  if (isUnsigned) {
    const query = Object.fromEntries(Object.entries(request.query).map(([key, value]) => [key, `${value}x`]));
    return { ...withoutProof, 'another query': { ...request, headers: {}, query } };
  }
  const changed = Buffer.from(request.body);
  const last = changed.length - 1;
  if (last >= 0) changed[last] = (changed[last] ?? 0) ^ 1;
  return {
    'a changed body': { ...request, body: changed },
    ...withoutProof,
    'an empty body': { ...request, body: new Uint8Array() },
  };
}

async function verified(
  receiver: WebhookReceiver,
  request: WebhookRequest,
  settings: Given['settings'],
): Promise<boolean> {
  try {
    return await receiver.verify(request, settings);
  } catch (error) {
    throw new Error(`verify() throws for a forged request; it must answer false: ${String(error)}`, { cause: error });
  }
}

/** Without members that are undefined: they are as good as absent. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
