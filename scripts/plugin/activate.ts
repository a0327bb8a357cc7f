/** Activates a plugin in a running installation. */
import { ToolError } from '../support/tool-error.ts';

interface Installation {
  readonly baseUrl: string;
  readonly token: string;
}

/** Agrees to `grants`. Throws ToolError with the reason when it fails. */
export async function activate({ baseUrl, token }: Installation, plugin: string, grants: object = {}): Promise<void> {
  const response = await fetch(`${baseUrl}/api/v1/plugins/${plugin}/activate`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, Accept: 'application/json', 'Content-Type': 'application/json' },
    body: JSON.stringify(grants),
  });
  if (response.status !== 200) throw new ToolError(`${plugin} cannot be activated: ${await response.text()}`);
}
