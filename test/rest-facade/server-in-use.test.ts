/** A sending server that a campaign names which is ready to run is kept (decision D60), over REST and GraphQL. */
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

test.each(['standard', 'classic'] as const)(
  'a server that a ready campaign names is not deleted (%s)',
  async (restDialect) => {
    const { token, customerId } = await app.newTenant({ restDialect });
    const newServer = async (name: string) => {
      const uid = newUid();
      await app.ctx.db.execute(
        sql`INSERT INTO sending_server (customer_id, uid, name, type) VALUES (${customerId}, ${uid}, ${name}, 'smtp')`,
      );
      return uid;
    };
    const [named, other] = [await newServer('Named'), await newServer('Other')];
    const routes = JSON.stringify([named, other].map((uid) => ({ uid, weight: 1 })));
    await app.ctx.db.execute(sql`
    WITH l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
               VALUES (${customerId}, ${newUid()}, 'L', 'S', 'a@b.example', 'A') RETURNING customer_id, id)
    INSERT INTO campaign (customer_id, uid, list_id, name, status, sending_servers)
    SELECT customer_id, ${newUid()}, id, 'Spring news', 'ready', ${routes}::jsonb FROM l`);
    const remove = () => app.rest(`/sending_servers/${named}`, { method: 'DELETE', token });
    const refused = {
      status: 422,
      body: { message: expect.stringContaining('"Spring news"'), errors: { status: [expect.any(String)] } },
    };
    expect(await remove()).toMatchObject(refused);
    // It would be missed when the server is active again.
    await app.rest(`/sending_servers/${named}`, { method: 'PATCH', token, body: { status: 'inactive' } });
    expect(await remove()).toMatchObject(refused);
    const query = `mutation { deleteSendingServer(uid: "${named}") { ... on Error { code } } }`;
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query }),
    });
    expect(await response.json()).toMatchObject({ data: { deleteSendingServer: { code: 'SENDING_SERVER_IN_USE' } } });
    await app.ctx.db.execute(sql`UPDATE campaign SET sending_servers = NULL WHERE customer_id = ${customerId}`);
    expect((await remove()).status).toBe(200);
  },
);
