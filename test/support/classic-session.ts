/**
 * A session of clients that were written years ago: the product with its workers in the classic dialect of the installation (D1: such
 * clients send no header for it), the ways to ask it, and what the session has learnt so far.
 */
import { expect } from 'vitest';
import { freePort } from './free-port.ts';
import { mailWorld } from './mail-world.ts';
import { rawRequest } from './raw-request.ts';
import { startRestApp, type RestAnswer } from './rest-app.ts';
import { wireFactsPlayed, type Message } from './wire-facts.ts';

export const UID = expect.stringMatching(/^[0-9a-f]{13}$/);
export const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
export const JSON_TYPE = 'Content-Type: application/json';
export const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';

export type ClassicSession = Awaited<ReturnType<typeof startClassicSession>>;

/** Starts the product for a whole test file. */
export async function startClassicSession() {
  const smtpPort = await freePort();
  const app = await startRestApp({
    ...{ ROLES: 'web,worker,cron', REST_DIALECT: 'classic', INBOX: 'on', INBOX_SMTP_PORT: String(smtpPort) },
    OUTBOUND_ALLOW_HOSTS: '127.0.0.1',
  });
  const known = { token: '', customer: '', list: '', plainList: '', campaign: '', person: '', personId: '' };
  const facts = wireFactsPlayed();
  const { mailTo, here } = mailWorld(app, { token: app.adminToken, customerId: 0n, email: '', password: '' });
  return {
    ...{ app, smtpPort, known, mailTo, here, ...facts },
    asOperator: (method: string, path: string, body?: unknown) => app.rest(path, { method, body }),
    ask: (method: string, path: string, body?: unknown) => app.rest(path, { method, body, token: known.token }),
    raw: (line: string, headers: readonly string[] = [], body = '') =>
      rawRequest(app.baseUrl, { line: line.replace(' /', ' /api/v1/'), headers, body }),
    bearer: () => `Authorization: Bearer ${known.token}`,
    /** The answer of an act: 200, `status` 1, and exactly this message. */
    expectDone(answer: { readonly status: number; readonly body: unknown }, message: Message) {
      expect(answer, message).toMatchObject({ status: 200, body: { status: 1, message } });
      facts.played(`answers 4 ${message}`);
    },
    /** As one client does it: asks for page after page until an answer is empty. */
    async allPages(path: string, token: string): Promise<Record<string, unknown>[]> {
      const rows: Record<string, unknown>[] = [];
      for (let page = 1; ; page++) {
        const found = rowsOf(await app.rest(`${path}?per_page=2&page=${page}`, { token }));
        if (found.length === 0) break;
        rows.push(...found);
      }
      expect(new Set(rows.map(({ uid }) => uid)).size, `${path}: a row came twice`).toBe(rows.length);
      return rows;
    },
  };
}

export const textAt = (answer: { readonly body: unknown }, name: string) => String(Object(answer.body)[name]);

/** The rows of an index, which is a bare array. */
export function rowsOf(answer: RestAnswer): Record<string, unknown>[] {
  expect([answer.status, Array.isArray(answer.body)], answer.text).toEqual([200, true]);
  return [Object(answer.body)].flat();
}

export function formOf<Form extends FormData | URLSearchParams>(entries: object, form: Form): Form {
  for (const [name, value] of Object.entries(entries)) form.append(name, String(value));
  return form;
}

export const urlencoded = (entries: object) => formOf(entries, new URLSearchParams());
export const multipart = (entries: object) => formOf(entries, new FormData());
