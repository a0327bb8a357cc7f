/** Credentials that must open nothing: of a tenant whose things all exist, so that only the credential can be the reason. */
import { setTimeout as sleep } from 'node:timers/promises';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { insertApiToken } from '../../src/domain/accounts/api-token-store.ts';
import { REMEMBERED_MS } from '../../src/domain/accounts/token-cache.ts';
import { sha256 } from '../../src/lib/crypto.ts';
import type { RestApp } from './rest-app.ts';
import type { World } from './rest-world.ts';

export interface BadCredential {
  readonly name: string;
  readonly token: string | null;
}

/** Tokens of the world's user that are no good: for everything, 401 or 403. */
export async function badCredentials(app: RestApp, world: World): Promise<BadCredential[]> {
  const [user] = await queryRows<{ id: bigint }>(
    app.ctx.db,
    sql`SELECT id FROM app_user WHERE customer_id = ${world.customerId} LIMIT 1`,
  );
  const make = async (scopes: readonly string[] = ['*']) => {
    const owner = { customerId: world.customerId, userId: user?.id ?? 0n };
    return (await insertApiToken(app.ctx.db, { ...owner, kind: 'named', name: 'Test', scopes })).token;
  };
  const spoiled = async (change: 'revoked_at' | 'expires_at') => {
    const token = await make();
    const digest = sha256(token);
    await app.ctx.db.execute(
      change === 'revoked_at'
        ? sql`UPDATE api_token SET revoked_at = now() WHERE digest = ${digest}`
        : sql`UPDATE api_token SET expires_at = now() - interval '1 second' WHERE digest = ${digest}`,
    );
    return token;
  };
  return [
    { name: 'no token', token: null },
    { name: 'an unknown token', token: 'x'.repeat(60) },
    { name: 'a revoked token', token: await spoiled('revoked_at') },
    { name: 'an expired token', token: await spoiled('expires_at') },
    { name: 'a token without scopes', token: await make([]) },
  ];
}

/** Disables the world's customer, as another process would: afterwards none of its tokens opens anything here. */
export async function disable(app: RestApp, world: World): Promise<void> {
  await app.ctx.db.execute(sql`UPDATE customer SET status = 'disabled' WHERE id = ${world.customerId}`);
  await sleep(REMEMBERED_MS);
}

/** Gives the world's texts a word that nobody else may ever be shown. Answers the word. */
export async function plantCanary(app: RestApp, world: World): Promise<string> {
  const word = `canary${world.customerUid}`;
  const { db } = app.ctx;
  const { customerId } = world;
  await db.execute(sql`UPDATE customer SET name = ${word} WHERE id = ${customerId}`);
  await db.execute(
    sql`UPDATE app_user SET first_name = ${word}, email = ${`${word}@tenant.example`} WHERE customer_id = ${customerId}`,
  );
  await db.execute(
    sql`UPDATE mail_list SET name = ${word}, from_name = ${word}, default_subject = ${word} WHERE customer_id = ${customerId}`,
  );
  await db.execute(sql`UPDATE list_contact SET company = ${word} WHERE customer_id = ${customerId}`);
  await db.execute(
    sql`UPDATE subscriber SET fields = jsonb_build_object('FIRST_NAME', ${word}::text), tags = ARRAY[${word}] WHERE customer_id = ${customerId}`,
  );
  await db.execute(
    sql`UPDATE campaign SET name = ${word}, subject = ${word}, html = ${word}, from_name = ${word} WHERE customer_id = ${customerId}`,
  );
  await db.execute(sql`UPDATE sending_server SET name = ${word} WHERE customer_id = ${customerId}`);
  await db.execute(sql`UPDATE mail_list_import SET file_name = ${word} WHERE customer_id = ${customerId}`);
  return word;
}
