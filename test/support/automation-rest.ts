/** A world's automations over both entry points. */
import { expect } from 'vitest';
import { field } from './mail-world.ts';
import type { RestAnswer, RestApp } from './rest-app.ts';

interface Owner {
  readonly token: string;
  readonly listUid: string;
}

export function automationRest(app: RestApp, own: Owner) {
  const ask = (method: string, path: string, body?: object, token = own.token) =>
    app.rest(path, { method, token, ...(body ? { body } : {}) });

  const make = async (body: object) => {
    const made = await ask('POST', '/automations', { list_uid: own.listUid, name: 'Welcome', ...body });
    expect(made.status, made.text).toBe(201);
    return String(field(made, 'automation_uid'));
  };

  return {
    ask,
    /** A draft. */
    make,
    /** Published and active. */
    active: async (flow: object) => {
      const uid = await make({ flow });
      const published = await ask('POST', `/automations/${uid}/publish`, { draft_version: 1 });
      expect(published.text).toContain('"version":1');
      expect((await ask('POST', `/automations/${uid}/activate`)).status).toBe(200);
      return uid;
    },
    graphql: async (query: string, variables: object, token = own.token) => {
      const response = await fetch(`${app.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      });
      return JSON.parse(await response.text());
    },
  };
}

/** The fields that an answer names. */
export function errorsOf({ body }: RestAnswer): string[] {
  return Object.keys((body as { errors?: object }).errors ?? {});
}

/** Edges from each node to the next one. */
export function line(...ids: string[]) {
  return ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
}
