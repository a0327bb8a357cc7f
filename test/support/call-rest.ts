/** Asks the REST interface of a running program as its administrator. */
import type { Program } from './program.ts';

export function callRest({ baseUrl, token }: Pick<Program, 'baseUrl' | 'token'>) {
  return async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${baseUrl}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: await answer.json() };
  };
}
