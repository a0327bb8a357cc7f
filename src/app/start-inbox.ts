/**
 * The built-in inbox, a development receiver: it runs so that a first campaign arrives somewhere, and steps back as
 * soon as there is a real sending server.
 */
import type { Settings } from '../config/settings.ts';
import type { Mount } from '../http/http-server.ts';
import type { Context } from '../domain/context.ts';

export interface RunningInbox {
  /** Port of the SMTP receiver; null: it does not run. */
  readonly port: number | null;
  readonly mounts: readonly Mount[];
  close(): Promise<void>;
}

export async function startInbox(_ctx: Context, _settings: Settings): Promise<RunningInbox> {
  return { port: null, mounts: [], close: async () => undefined };
}
