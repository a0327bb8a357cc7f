/**
 * The audit entry of a successful mutation, from its arguments and its result. It is made for every mutation in one place, so
 * that none can forget it. Only names and uids are stored, never a value (hard case E22).
 */
import type { AuditActor, AuditEntry } from '../domain/accounts/audit-entry.ts';
import type { ChangedThing } from '../domain/context.ts';
import { isUid, subscriberUid } from '../lib/ids.ts';
import type { GraphqlContext } from './context.ts';

export interface MutationDone {
  readonly operation: string;
  readonly args: object;
  /** Its result; missing where the entry is written within the change. */
  readonly result?: unknown;
  /** What the verb reports about its change; overrides arguments and result. */
  readonly about?: ChangedThing | undefined;
  readonly ctx: GraphqlContext;
}

/** Arguments that identify the subject of a mutation, the most specific first. */
const TARGET_ARGUMENTS = [
  'uid',
  'importUid',
  'campaignUid',
  'customerUid',
  'userUid',
  'subscriber',
  'listUid',
] as const;

/** The entry of a mutation that has succeeded. */
export function auditEntryOf({ operation, args, result, about, ctx }: MutationDone): AuditEntry {
  const given = inputsOf(args);
  const actor = actorOf(ctx, about ?? result);
  return {
    customerId: about?.customerId ?? ownerOf(result) ?? actor?.customerId ?? 0n,
    actor,
    operation,
    targetUid: about?.targetUid ?? uidOf(result) ?? targetIn(given),
    fields: Object.keys(given).filter((name) => given[name] !== undefined),
    entryPoint: ctx.entryPoint,
    ipAddress: ctx.ipAddress,
    client: ctx.client,
  };
}

/** Mutations that change access, each with the inputs that do so; none: always. */
const ACCESS: ReadonlyMap<string, readonly string[]> = new Map([
  ['changePassword', []],
  ['updateProfile', ['email']],
  ['createApiToken', []],
  ['rotateApiToken', []],
  ['revokeApiToken', []],
  ['createLoginLink', []],
  ['logOut', []],
  ['confirmTwoFactor', []],
  ['renewRecoveryCodes', []],
  ['disableTwoFactor', []],
  ['resetTwoFactor', []],
  ['setAdministrator', []],
  ['createCustomer', []],
  ['updateCustomer', ['email', 'password']],
  ['disableCustomer', []],
  ['enableCustomer', []],
  ['deleteCustomer', []],
]);

/** Whether the change is also logged. */
export function changesAccess({ operation, fields }: AuditEntry): boolean {
  const inputs = ACCESS.get(operation);
  return inputs !== undefined && (inputs.length === 0 || inputs.some((name) => fields.includes(name)));
}

/** Logs who changed a password, token or right. */
export function noteChange(ctx: GraphqlContext, { operation, actor, targetUid, fields }: AuditEntry): void {
  const { tokenUid, tokenKind } = actor ?? {};
  ctx.securityEvents?.note(ctx, {
    ...{ kind: 'changed', operation, account: actor, tokenUid, tokenKind, targetUid, fields },
  });
}

function inputsOf(args: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(args).flatMap(([name, value]: [string, unknown]) =>
      name === 'input' && typeof value === 'object' && value !== null ? Object.entries(value) : [[name, value]],
    ),
  );
}

/** The caller; for a login the user who just logged in. */
function actorOf({ viewer }: GraphqlContext, result: unknown): AuditActor | null {
  if (viewer) return viewer;
  const [customerId, userId] = [idIn(result, 'customerId'), idIn(result, 'userId')];
  return customerId !== undefined && userId !== undefined ? { customerId, userId } : null;
}

/** The customer whose data was changed: the row's, or the customer itself. */
function ownerOf(result: unknown): bigint | undefined {
  const isCustomer = typeof result === 'object' && result !== null && 'isOperator' in result;
  return idIn(result, isCustomer ? 'id' : 'customerId');
}

function uidOf(result: unknown): string | null {
  if (typeof result !== 'object' || result === null) return null;
  if ('uid' in result && typeof result.uid === 'string') return result.uid;
  // Subscribers have no uid column; theirs is computed from the id.
  const id = idIn(result, 'id');
  return id !== undefined && 'listId' in result && 'email' in result ? subscriberUid(id) : null;
}

/** Only a uid: a person's address must not be in the audit trail. */
function targetIn(given: Readonly<Record<string, unknown>>): string | null {
  const values = TARGET_ARGUMENTS.map((name) => given[name]);
  return values.find((value): value is string => typeof value === 'string' && isUid(value)) ?? null;
}

function idIn(result: unknown, name: 'customerId' | 'userId' | 'id'): bigint | undefined {
  const value: unknown = typeof result === 'object' && result !== null ? Reflect.get(result, name) : undefined;
  return typeof value === 'bigint' ? value : undefined;
}
