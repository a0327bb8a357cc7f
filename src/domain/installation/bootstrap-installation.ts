/**
 * The first start creates the operator's account, its administrator and that user's primary API token (decision D45). A row in
 * `setting` records that this was done; it outlives every account, so nothing can repeat it.
 */
import { randomBytes } from 'node:crypto';
import { newUid } from '../../lib/ids.ts';
import { inTransaction, type Context } from '../context.ts';
import { insertApiToken } from '../accounts/api-token-store.ts';
import { insertOperator } from '../accounts/customer-store.ts';
import { faultsOfNewPassword } from '../accounts/new-password.ts';
import { hashPassword } from '../accounts/password.ts';
import { EVERY_SCOPE } from '../accounts/scopes.ts';
import { insertSetting } from './setting-store.ts';
import { insertAdministrator } from '../accounts/user-store.ts';

export interface BootstrapInput {
  readonly email: string;
  /** Empty or absent: generated. */
  readonly password?: string | undefined;
  readonly apiToken?: string | undefined;
}

/** Credentials that must be shown now: they cannot be read later. What the operator chose is not repeated. */
export interface Bootstrapped {
  readonly email: string;
  readonly password: string | null;
  readonly apiToken: string | null;
}

const DONE_KEY = 'installation.bootstrapped';
/** 120 bits as 20 characters. */
const PASSWORD_BYTES = 15;

/**
 * Sets up an empty installation, or throws for a password that is too common; null when it was set up before. Ten processes may
 * call it at once: one does it.
 */
export async function bootstrapInstallation(ctx: Context, input: BootstrapInput): Promise<Bootstrapped | null> {
  return inTransaction(ctx, async ({ db }) => {
    if (!(await insertSetting(db, DONE_KEY, true))) return null;
    if (input.password) await checkChosen(input.password, input.email);
    const password = input.password || randomBytes(PASSWORD_BYTES).toString('base64url');
    const passwordHash = await hashPassword(password);
    const customerId = await insertOperator(db, newUid());
    const userId = await insertAdministrator(db, { customerId, uid: newUid(), email: input.email, passwordHash });
    const { token } = await insertApiToken(db, {
      customerId,
      userId,
      kind: 'primary',
      name: 'Primary',
      scopes: [EVERY_SCOPE],
      token: input.apiToken || undefined,
    });
    return { email: input.email, password: input.password ? null : password, apiToken: input.apiToken ? null : token };
  });
}

/** A setting is read at the start: if it is wrong, the operator gets a sentence, and nothing is set up. */
async function checkChosen(password: string, email: string): Promise<void> {
  const [fault] = await faultsOfNewPassword(password, { email });
  if (fault) throw new Error(`ADMIN_PASSWORD cannot be used: ${fault}`);
}
