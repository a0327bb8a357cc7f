/** The whole product in this process on a database given, asked over HTTP: for tests, and for programs without a test runner. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { startApp } from '../../src/app/start-app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { sql } from '../../src/db/database.ts';
import { insertApiToken } from '../../src/domain/accounts/api-token-store.ts';
import { hashPassword } from '../../src/domain/accounts/password.ts';
import type { Context } from '../../src/domain/context.ts';
import { newUid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import type { HookBus } from '../../src/plugin-host/hook-bus.ts';
import { theContract } from './contract.ts';
import { freePort } from './free-port.ts';
import { giveUnlimitedPlan } from './plans.ts';

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed, when it is JSON. */
  readonly body: unknown;
  readonly text: string;
}

export interface RestRequest {
  readonly method?: string;
  /** Sent as JSON, unless it is text or a form. */
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RestTenant {
  readonly token: string;
  readonly customerId: bigint;
  readonly email: string;
  readonly password: string;
}

export interface RestApp {
  readonly ctx: Context;
  readonly hooks: HookBus;
  readonly baseUrl: string;
  readonly adminToken: string;
  /** Lines that were logged, as JSON. */
  readonly logged: readonly string[];
  /**
   * Asks `/api/v1<path>`; without a token given: as the administrator. `null`: as a stranger. Throws when the answer is
   * not as documented.
   */
  rest(path: string, request?: RestRequest): Promise<RestAnswer>;
  /** A customer of its own with one user, whom no plan limits; or who has no plan. */
  newTenant(options?: TenantOptions): Promise<RestTenant>;
}

export interface TenantOptions {
  readonly scopes?: readonly string[];
  readonly restDialect?: 'standard' | 'classic';
  readonly hasPlan?: boolean;
}

export interface OpenRestApp extends RestApp {
  stop(): Promise<void>;
}

const ADMIN_TOKEN = 'A'.repeat(60);
const TENANT_PASSWORD = 'tenant password';
/** Made once a file: hashing is slow on purpose. */
let tenantPasswordHash: Promise<string> | undefined;

/** Starts it on this database, with the settings given. */
export async function openRestApp(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<OpenRestApp> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-rest-'));
  const logged: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => void logged.push(line) });
  const app = await startApp(
    loadConfig({
      DATABASE_URL: databaseUrl,
      DATA_DIR: dataDir,
      PORT: String(await freePort()),
      ROLES: 'web',
      INBOX: 'off',
      // Nobody answers there: tests that look at domains have a name server of their own.
      DNS_SERVERS: '127.0.0.1:1',
      DB_POOL_SIZE: '6',
      APP_SECRET: 'test-secret-'.repeat(4),
      ADMIN_API_TOKEN: ADMIN_TOKEN,
      ADMIN_PASSWORD: 'correct horse battery',
      ...settings,
    }),
    log,
  );
  // An address of the installation that is no place on this machine: asked at its port.
  const baseUrl = settings['BASE_URL'] === undefined ? app.baseUrl : `http://127.0.0.1:${settings['PORT']}`;
  return {
    ctx: app.ctx,
    hooks: app.hooks,
    baseUrl,
    adminToken: ADMIN_TOKEN,
    logged,
    rest: (path_, request) => requestByContract(baseUrl, path_, request),
    newTenant: (options) => newTenant(app.ctx, options ?? {}),
    async stop() {
      await app.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Every answer is held against the OpenAPI document: what is not in it is a fault, whatever the test looks at. */
async function requestByContract(baseUrl: string, path_: string, request: RestRequest = {}): Promise<RestAnswer> {
  const answer = await ask(`${baseUrl}/api/v1${path_}`, request);
  const { method = 'GET' } = request;
  const contentType = answer.headers.get('content-type') ?? '';
  const contract = await theContract();
  const fault = contract.faultOf({ method, path: path_, status: answer.status, contentType, body: answer.body });
  if (fault === undefined) return answer;
  throw new Error(
    `${method} ${path_.slice(0, 200)} answers outside the contract: ${fault} ${answer.text.slice(0, 500)}`,
  );
}

async function ask(
  url: string,
  { method = 'GET', body, token = ADMIN_TOKEN, headers = {} }: RestRequest = {},
): Promise<RestAnswer> {
  const isRaw = typeof body === 'string' || body instanceof FormData || body instanceof URLSearchParams;
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined || body instanceof FormData || body instanceof URLSearchParams
        ? {}
        : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

async function newTenant(ctx: Context, options: TenantOptions): Promise<RestTenant> {
  const email = `user-${newUid()}@tenant.example`;
  const password = TENANT_PASSWORD;
  tenantPasswordHash ??= hashPassword(password);
  const [user] = await queryRows<{ customer_id: bigint; id: bigint }>(
    ctx.db,
    sql`
    WITH c AS (INSERT INTO customer (uid, name) VALUES (${newUid()}, 'Tenant') RETURNING id)
    INSERT INTO app_user (customer_id, uid, email, email_key, password_hash)
    SELECT id, ${newUid()}, ${email}, ${email}, ${await tenantPasswordHash} FROM c RETURNING customer_id, id`,
  );
  if (!user) throw new Error('No tenant was made.');
  if (options.hasPlan ?? true) await giveUnlimitedPlan(ctx.db, user.customer_id);
  const { token } = await insertApiToken(ctx.db, {
    customerId: user.customer_id,
    userId: user.id,
    kind: 'primary',
    name: 'Primary',
    scopes: options.scopes ?? ['*'],
    restDialect: options.restDialect ?? null,
  });
  return { token, customerId: user.customer_id, email, password };
}
