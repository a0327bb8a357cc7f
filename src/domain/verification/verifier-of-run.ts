/** The verifier of a run: open from step to step, so that it can keep connections and answers; opened anew when its server was changed. */
import type { Context } from '../context.ts';
import { openStoredVerifier } from './open-verifier.ts';
import type { VerificationServer } from './verification-server.ts';

type OpenVerifier = ReturnType<typeof openStoredVerifier>;

export interface VerifierOfRun {
  /** Throws ValidationError on `type` when no active plugin provides it. */
  of(server: VerificationServer): Promise<OpenVerifier>;
  close(): Promise<void>;
}

/** Opens nothing until a server is named. */
export function createVerifierOfRun(ctx: Context): VerifierOfRun {
  let kept: { readonly version: string; readonly opened: OpenVerifier } | undefined;
  const close = async (): Promise<void> => {
    const { opened } = kept ?? {};
    kept = undefined;
    await opened?.verifier.close().catch(() => undefined);
  };
  return {
    async of(server) {
      const version = versionOf(ctx, server);
      if (kept?.version !== version) {
        await close();
        kept = { version, opened: openStoredVerifier(ctx, server) };
      }
      return kept.opened;
    },
    close,
  };
}

/** Another one after a change of the settings, or of the plugins that are live. */
function versionOf({ hooks }: Context, { uid, type, settings, sealedSettings }: VerificationServer): string {
  const sealed = sealedSettings === null ? null : Buffer.from(sealedSettings).toString('base64');
  return JSON.stringify([uid, type, settings, sealed, hooks.changes]);
}
