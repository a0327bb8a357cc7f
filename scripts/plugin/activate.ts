/** Activates a plugin in a running installation, and switches it on for the customer of the token. */
import { ToolError } from '../support/tool-error.ts';

interface Installation {
  readonly baseUrl: string;
  readonly token: string;
}

/** Agrees to `grants`. Throws ToolError with the reason when it fails. */
export async function activate({ baseUrl, token }: Installation, plugin: string, grants: object = {}): Promise<void> {
  const post = (path: string, body: object) =>
    fetch(`${baseUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const response = await post(`/plugins/${plugin}/activate`, grants);
  if (response.status !== 200) throw new ToolError(`${plugin} cannot be activated: ${await response.text()}`);
  // 404: it has nothing for customers.
  await post(`/me/plugins/${plugin}/switch-on`, {});
}
