/** What the rows of API tokens, two-factor login and the audit trail answer. */
import { z } from 'zod';
import { cursorShape } from '../cursor.ts';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

const apiTokenShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    kind: z.string(),
    scopes: z.array(z.string()),
    created_at: timeShape,
    expires_at: timeShape.nullable(),
    last_used_at: timeShape.nullable(),
    last_used_ip: z.string().nullable(),
  })
  .meta({ id: 'ApiToken' });

const auditEventShape = z
  .strictObject({
    at: timeShape,
    operation: z.string(),
    target_uid: z.string().nullable(),
    fields: z.array(z.string()),
    failure: z.string().nullable(),
    user_uid: uidShape.nullable(),
    user_email: z.string().nullable(),
    customer_uid: uidShape.nullable(),
    token_uid: uidShape.nullable(),
    token_kind: z.string().nullable(),
    plugin: z.string().nullable().meta({ description: 'The plugin that did it, `vendor/name`.' }),
    entry_point: z.string(),
    ip_address: z.string().nullable(),
    client: z.string().nullable(),
    is_by_operator: z.boolean(),
  })
  .meta({ id: 'AuditEvent' });

export const apiTokensShape = cursorShape('api_tokens', apiTokenShape);
export const auditEventsShape = cursorShape('audit_events', auditEventShape);
export const tokenCreatedShape = actionShape({ api_token_uid: uidShape, token: z.string(), api_token: apiTokenShape });
export const tokenRevokedShape = actionShape({ api_token_uid: uidShape });
export const twoFactorBegunShape = actionShape({ secret: z.string(), uri: z.string() });
export const recoveryCodesShape = actionShape({ recovery_codes: z.array(z.string()) });
export const twoFactorEndedShape = actionShape({});
