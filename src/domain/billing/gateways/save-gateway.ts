/** Setting up payment gateways: administrators only. */
import { isUid, newUid } from '../../../lib/ids.ts';
import { InputFaults } from '../../../lib/input-faults.ts';
import type { ConnectionTest } from '../../../plugin-api/index.ts';
import { endChecks, inTransaction, type Context } from '../../context.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { gatewayData } from './gateway-secrets.ts';
import { missingGatewayType, openGateway } from './open-gateway.ts';
import { gatewayBeingDeleted, gatewayNotFound, tooManyGateways } from './payment-gateway-errors.ts';
import { allGateways, findGateway, insertGateway, updateGatewayRow } from './payment-gateway-store.ts';
import {
  createGatewayInput,
  GATEWAYS_MAX,
  updateGatewayInput,
  type CreateGatewayInput,
  type StoredGateway,
  type UpdateGatewayInput,
} from './payment-gateway.ts';
import { checkGateway, testGateway, tryGateway, type GivenGateway } from './try-gateway.ts';

/** Stores the gateway when its settings work. Throws ValidationError on the input, `settings.<key>` or `connection`. */
export async function createGateway(ctx: Context, input: CreateGatewayInput): Promise<StoredGateway> {
  requireAdministrator(ctx);
  const faults = new InputFaults();
  const wanted = faults.read(createGatewayInput, input);
  const { type } = input;
  const uid = newUid();
  const given: GivenGateway = { uid, type: type ?? '', name: input.name ?? '', settings: wanted?.settings ?? {} };
  if (type) faults.catch(() => checkGateway(ctx, given));
  faults.check();
  if (!wanted) throw new Error('Faults were lost.');
  if ((await allGateways(ctx.db)).length >= GATEWAYS_MAX) throw tooManyGateways();
  const tried = await tryGateway(ctx, given);
  const { name, status } = wanted;
  return insertGateway(ctx.db, {
    uid,
    type: wanted.type,
    name,
    status: status ?? 'active',
    deletingAt: null,
    ...tried,
  });
}

/**
 * Changes the given values; other settings stay, credentials included. Throws ValidationError as above; NotFoundError
 * `PAYMENT_GATEWAY_NOT_FOUND`; WrongStateError `PAYMENT_GATEWAY_DELETING`.
 */
export async function updateGateway(
  ctx: Context,
  { uid, ...input }: UpdateGatewayInput & { uid: string },
): Promise<StoredGateway> {
  requireAdministrator(ctx);
  const before = await knownGateway(ctx, uid);
  const faults = new InputFaults();
  const wanted = faults.readRight(updateGatewayInput, input);
  const given = wanted.settings && settingsWith(ctx, before, wanted.settings);
  if (given) faults.catch(() => checkGateway(ctx, given));
  faults.check();
  const tried = given ? await tryGateway(ctx, given) : {};
  return inTransaction(ctx, async (tx) => {
    const gateway = await knownGateway(tx, uid, true);
    if (gateway.deletingAt !== null) throw gatewayBeingDeleted();
    await updateGatewayRow(tx.db, gateway, { name: wanted.name, status: wanted.status ?? undefined, ...tried });
    return gateway;
  });
}

/** Calls the vendor with the stored credentials. A failed test is an answer. Throws NotFoundError. */
export async function testStoredGateway(ctx: Context, { uid }: { uid: string }): Promise<ConnectionTest> {
  requireAdministrator(ctx);
  const gateway = await knownGateway(ctx, uid);
  endChecks(ctx);
  const open = openGateway(ctx, gateway);
  return open ? testGateway(open) : { ok: false, message: missingGatewayType(ctx, gateway.type) ?? '' };
}

/** Throws NotFoundError `PAYMENT_GATEWAY_NOT_FOUND`. */
export async function knownGateway({ db }: Context, uid: string, lock = false): Promise<StoredGateway> {
  const gateway = isUid(uid) ? await findGateway(db, uid, lock) : undefined;
  if (!gateway) throw gatewayNotFound();
  return gateway;
}

/** The present settings with the given ones; null removes one. */
function settingsWith(
  { installation }: Context,
  gateway: StoredGateway,
  settings: Readonly<Record<string, unknown>>,
): GivenGateway {
  const merged = Object.entries({ ...gatewayData(installation.secret, gateway), ...settings });
  const { uid, type, name } = gateway;
  const left = Object.fromEntries(merged.filter(([, value]) => value !== null));
  return { uid, type, name, settings: left, given: Object.keys(settings) };
}
