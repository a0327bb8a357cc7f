/** What the rows of sending servers answer (specification 2.6; decision D29). */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

/** What the index says of a server. */
export const serverRow = {
  uid: uidShape,
  name: z.string(),
  type: z.string(),
  status: z.enum(['active', 'inactive']),
  created_at: timeShape,
  updated_at: timeShape,
};

/** Why a server cannot be used. */
export const faultShape = z
  .string()
  .nullable()
  .meta({ description: 'Why it cannot be used: no active plugin provides its type; null: one does.' });
export const settingsShape = z
  .record(z.string(), z.unknown())
  .meta({ description: 'As its driver names them, without credentials.' });

export const serverRowShape = z.strictObject(serverRow).meta({ id: 'SendingServerRow' });

const health = {
  state: z.enum(['closed', 'open', 'half-open']).meta({ description: 'State of the breaker: closed means healthy.' }),
  failures: z.int(),
  slots: z.int().meta({ description: 'Number of messages while it is half-open.' }),
  rests_until: timeShape.nullable(),
  last_error: z.string().nullable(),
};
const healthShape = z
  .strictObject({ ...health, mailboxes: z.array(z.strictObject({ name: z.string(), ...health })) })
  .meta({ id: 'SendingHealth' });

const warmUpShape = z
  .strictObject({
    schedule: z.record(z.string(), z.unknown()),
    day: z.int(),
    limit_today: z.int().nullable().meta({ description: 'Null: there is no warm-up.' }),
    used_today: z.int(),
    bounced_today: z.int(),
    stopped_at: timeShape.nullable(),
    stop_reason: z.string().nullable(),
  })
  .meta({ id: 'WarmUp' });

const serverShape = z
  .strictObject({
    ...serverRow,
    fault: faultShape,
    settings: settingsShape,
    webhook_url: z.string().nullable().meta({
      description:
        'The address to enter at the vendor, which reports bounces there. It may contain a secret: only who may change servers sees it. Null: this type takes no reports.',
    }),
    bounces_come_by: z.enum(['mail', 'reports']).nullable().meta({
      description:
        'How bounces come back: by mail to the return-path, or by reports of the vendor to `webhook_url`. Null: no active plugin provides its type.',
    }),
    bounce_warning: z
      .string()
      .nullable()
      .meta({ description: 'Why bounces may be lost, and what to do; null: all is well.' }),
    default_from_email: z.string(),
    connections: z.strictObject({
      now: z.int().meta({ description: 'How many it may use now, over all processes: grows by itself.' }),
      max: z.int().meta({ description: 'The largest number: the setting `max_connections`, or 20.' }),
    }),
    quota_value: z.int().meta({ description: '-1: no limit.' }),
    quota_base: z.int().nullable(),
    quota_unit: z.string().nullable(),
    is_system: z.boolean(),
    domain_limits: z.record(z.string(), z.int()).meta({ description: 'Messages an hour, by provider or domain.' }),
    warm_up: warmUpShape.nullable(),
    health: healthShape,
  })
  .meta({ id: 'SendingServer' });

export const oneServerShape = z.strictObject({ sending_server: serverShape });
export const serverActionShape = actionShape({ sending_server_uid: uidShape, sending_server: serverShape });
export const serverDeletedShape = actionShape({ sending_server_uid: uidShape });
export const serverTestedShape = actionShape({
  sending_server_uid: uidShape,
  test: z.strictObject({
    accepted: z
      .boolean()
      .meta({ description: 'Whether the server can be used; with `to`: whether it took the message.' }),
    reply: z.string().meta({ description: "The server's reply, or why there is none." }),
    advice: z.string().nullable().meta({ description: 'What to do; null when it works.' }),
    duration_ms: z.int(),
  }),
});
